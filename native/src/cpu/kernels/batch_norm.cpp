// Batch norm with residual add and ReLU in one operator: Ioffe and Szegedy, "Batch normalization", ICML 2015.
// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta (+ residual), (in [0, most]), with the batch's statistics or with given ones.
#include "cpu/kernels/batch_norm.h"

#include <cmath>

#include "cpu/kernels/norm_moments.h"
#include "cpu/kernels/normalise_rows.h"

namespace arbalest::kernels {
namespace {

// All numbers are (C).
NormaliseRow row_of(const ChannelGroup& group, const float* means, const float* variances, const float* gammas, const float* betas,
                    double epsilon) {
  float scales[kMostWidth];
  for (int c = 0; c < group.channels; ++c) {
    const int64_t channel = group.channel + c;
    scales[c] = static_cast<float>(gammas[channel] / std::sqrt(variances[channel] + epsilon));
  }
  return NormaliseRow(group, means + group.channel, scales, betas + group.channel);
}

template <class T> class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        x_(input<T>(spec, 0)),
        gamma_(input<float>(spec, 1)),
        beta_(input<float>(spec, 2)),
        mean_(output<float>(spec, 1)),
        variance_(output<float>(spec, 2)),
        epsilon_(spec.attributes.number("epsilon")),
        normaliser_(layout_, x_, input<T>(spec, 3), output<T>(spec, 0), spec.attributes),
        moments_(spec, partial_sums(layout_)),
        rows_(layout_.groups.size()) {}

  void run(const StepContext&) override {
    two_passes(
        layout_, [&](int64_t group, int64_t chunk) { gather(group, chunk); }, [&](int64_t group) { finish(group); },
        [&](int64_t group, int64_t image) { normaliser_.apply(layout_.groups[group], image, rows_[group]); });
  }

 private:
  void gather(int64_t g, int64_t chunk) {
    const int64_t first = chunk * layout_.images_a_chunk(), last = std::min(layout_.images, first + layout_.images_a_chunk());
    find_moments(layout_, layout_.groups[g], x_, first, last, moments_[g * layout_.chunks() + chunk]);
  }

  void finish(int64_t g) {
    const ChannelGroup& group = layout_.groups[g];
    for (int c = 0; c < group.channels; ++c) {
      MergedMoments all;
      for (int64_t chunk = 0; chunk < layout_.chunks(); ++chunk) {
        const Moments& moments = moments_[g * layout_.chunks() + chunk];
        for (int i = c; i < group.width; i += group.period) all.merge({moments.count[i], moments.mean[i], moments.square[i]});
      }
      mean_[group.channel + c] = static_cast<float>(all.mean);
      variance_[group.channel + c] = static_cast<float>(all.square / all.count);
    }
    rows_[g] = row_of(group, mean_, variance_, gamma_, beta_, epsilon_);
  }

  const ChannelGroups layout_;
  const T* x_;
  const float *gamma_, *beta_;  // (C)
  float *mean_, *variance_;     // (C)
  const double epsilon_;
  const Normaliser<T> normaliser_;
  PlannedItems<Moments> moments_;   // (groups, chunks)
  std::vector<NormaliseRow> rows_;  // (groups)
};

template <class T> class BatchNormInference final : public Kernel {
 public:
  explicit BatchNormInference(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        gamma_(input<float>(spec, 1)),
        beta_(input<float>(spec, 2)),
        mean_(input<float>(spec, 3)),
        variance_(input<float>(spec, 4)),
        epsilon_(spec.attributes.number("epsilon")),
        normaliser_(layout_, input<T>(spec, 0), input<T>(spec, 5), output<T>(spec, 0), spec.attributes),
        rows_(layout_.groups.size()) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for (int64_t g = 0; g < groups; ++g) rows_[g] = row_of(layout_.groups[g], mean_, variance_, gamma_, beta_, epsilon_);
    for_each(groups * layout_.images, layout_.elements,
             [&](int64_t item) { normaliser_.apply(layout_.groups[item % groups], item / groups, rows_[item % groups]); });
  }

 private:
  const ChannelGroups layout_;
  const float *gamma_, *beta_, *mean_, *variance_;  // (C)
  const double epsilon_;
  const Normaliser<T> normaliser_;
  std::vector<NormaliseRow> rows_;  // (groups)
};

void check_forward(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank(0, 4);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2}) shapes.input_is(i, {x[1]});
  shapes.input_is(3, x);
  shapes.output_is(0, x);
  for (size_t i : {1, 2}) shapes.output_is(i, {x[1]});
}

void check_inference(const Shapes& shapes) {
  shapes.epsilon();
  shapes.input_rank(0, 4);
  const Shape& x = shapes.input(0);
  for (size_t i : {1, 2, 3, 4}) shapes.input_is(i, {x[1]});
  shapes.input_is(5, x);
  shapes.output_is(0, x);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"batchNorm",
       {{"x", activation}, {"gamma", parameter}, {"beta", parameter}, {"residual", activation, true}},
       {{"y", activation}, {"mean", parameter}, {"variance", parameter}},
       check_forward,
       make_typed<BatchNorm>,
       {{0, 0}, {0, 3}},
       scratch_of<Moments>},
      {"batchNormInference",
       {{"x", activation},
        {"gamma", parameter},
        {"beta", parameter},
        {"mean", parameter},
        {"variance", parameter},
        {"residual", activation, true}},
       {{"y", activation}},
       check_inference,
       make_typed<BatchNormInference>,
       {{0, 0}, {0, 5}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
