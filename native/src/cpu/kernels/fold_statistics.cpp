// The statistics of all samples of `count` batches of one size and of one batch more: Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", 1983. The variance stays biased and includes the differences between the means of the batches.
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

class FoldStatistics final : public Kernel {
 public:
  explicit FoldStatistics(const OperatorSpec& spec)
      : channels_(elements_of(spec.inputs[0].shape())),
        mean_(input<float>(spec, 0)),
        variance_(input<float>(spec, 1)),
        count_(input<float>(spec, 2)),
        folded_mean_(input<float>(spec, 3)),
        folded_variance_(input<float>(spec, 4)),
        next_count_(output<float>(spec, 0)),
        next_mean_(output<float>(spec, 1)),
        next_variance_(output<float>(spec, 2)) {}

  void run(const StepContext&) override {
    const double count = *count_, next = count + 1;
    for (int64_t c = 0; c < channels_; ++c) {
      const double step = static_cast<double>(mean_[c]) - folded_mean_[c];
      const double variance = (count * folded_variance_[c] + variance_[c] + step * step * count / next) / next;
      next_mean_[c] = static_cast<float>(folded_mean_[c] + step / next);
      next_variance_[c] = static_cast<float>(variance);
    }
    *next_count_ = static_cast<float>(next);
  }

 private:
  const int64_t channels_;
  const float *mean_, *variance_;                         // (C)
  const float *count_, *folded_mean_, *folded_variance_;  // (1), (C), (C)
  float *next_count_, *next_mean_, *next_variance_;       // (1), (C), (C)
};

void check(const Shapes& shapes) {
  shapes.input_rank(0, 1);
  const Shape& statistic = shapes.input(0);
  for (size_t i : {1, 3, 4}) shapes.input_is(i, statistic);
  shapes.input_is(2, {1});
  shapes.output_is(0, {1});
  for (size_t i : {1, 2}) shapes.output_is(i, statistic);
}

std::vector<Operator> operators() {
  using enum Role;
  return {{"foldStatistics",
           {{"mean", parameter}, {"variance", parameter}, {"count", parameter}, {"foldedMean", parameter}, {"foldedVariance", parameter}},
           {{"count", parameter}, {"foldedMean", parameter}, {"foldedVariance", parameter}},
           check,
           [](const OperatorSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<FoldStatistics>(spec); },
           {{0, 2}, {1, 3}, {2, 4}}}};
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
