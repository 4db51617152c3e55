// Binary cross-entropy of logits: the mean over all elements of log(1 + e^x) - t x, and its gradient (s - t) / elements, where s is the
// sigmoid of x. Where its label has the weight p, (p - 1) t log(1 + e^-x) is added to an element's loss, and (p - 1) t (s - 1) to its
// gradient. A sample counts as correct where each of its logits lies on its target's side: above 0 just where the target is above 1/2.
#include "core/labels_of.h"
#include "cpu/binary_cross_entropy_check.h"
#include "cpu/kernels/count.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/logarithm.h"
#include "cpu/kernels/sigmoid.h"

namespace arbalest::kernels {
namespace {

// Elements whose sum is kept in float before it is added up in double.
constexpr int64_t kRun = 64 * kLanes;

// What the weights of a sample's elements add to 1; empty where there are none.
std::vector<float> weights_beyond_one(const OperatorSpec& spec) {
  const std::vector<double> given = spec.attributes.list("weights", {});
  const Shape& logits = spec.inputs[0].shape();
  const LabelsOf labels(logits);
  std::vector<float> each(given.empty() ? 0 : static_cast<size_t>(elements_of(logits) / logits[0]));
  for (size_t i = 0; i < each.size(); ++i) each[i] = static_cast<float>(given[static_cast<size_t>(labels.of(static_cast<int64_t>(i)))] - 1);
  return each;
}

template <class T> class BinaryCrossEntropy final : public Kernel {
 public:
  explicit BinaryCrossEntropy(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        features_(elements_of(spec.inputs[0].shape()) / samples_),
        logits_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        beyond_one_(weights_beyond_one(spec)),
        loss_(output<float>(spec, 0)),
        correct_(spec, 1) {}

  void run(const StepContext&) override {
    const int64_t elements = samples_ * features_;
    double total = 0;
    for (int64_t begin = 0; begin < elements; begin += kRun) total += loss_of(begin, begin + kRun < elements ? begin + kRun : elements);
    if (!beyond_one_.empty()) {
      for (int64_t sample = 0; sample < samples_; ++sample)
        for (int64_t begin = 0; begin < features_; begin += kRun)
          total += loss_beyond(sample * features_, begin, begin + kRun < features_ ? begin + kRun : features_);
    }
    *loss_ = static_cast<float>(total / static_cast<double>(elements));
    int64_t correct = 0;
    for (int64_t sample = 0; sample < samples_; ++sample) correct += right(sample);
    correct_.set(correct);
  }

 private:
  double loss_of(int64_t begin, int64_t end) const {
    Floats sum{};
    for_each_register(begin, end, [&]<bool Partial>(int64_t at, int width) {
      const Floats x = load<Partial>(logits_ + at, width), t = load<Partial>(target_ + at, width);
      // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|): nothing overflows.
      Floats loss = rectified(x) - t * x + log_of_one_plus(exponential(-magnitude_of(x)));
      if constexpr (Partial) loss = lane_numbers() < width ? loss : Floats{};
      sum += loss;
    });
    return sum_of(sum);
  }

  // What weights add to the loss of elements [begin, end) of the sample that begins at element `first`.
  double loss_beyond(int64_t first, int64_t begin, int64_t end) const {
    Floats sum{};
    for_each_register(begin, end, [&]<bool Partial>(int64_t at, int width) {
      const Floats x = load<Partial>(logits_ + first + at, width), t = load<Partial>(target_ + first + at, width);
      const Floats surprise = rectified(-x) + log_of_one_plus(exponential(-magnitude_of(x)));
      Floats loss = load<Partial>(beyond_one_.data() + at, width) * t * surprise;
      if constexpr (Partial) loss = lane_numbers() < width ? loss : Floats{};
      sum += loss;
    });
    return sum_of(sum);
  }

  bool right(int64_t sample) const {
    Ints wrong{};
    for_each_register(sample * features_, (sample + 1) * features_, [&]<bool Partial>(int64_t at, int width) {
      const Floats x = load<Partial>(logits_ + at, width), t = load<Partial>(target_ + at, width);
      wrong |= ((x > 0.0f) ^ (t > 0.5f)) | (x != x);
    });
    return !any(wrong);
  }

  const int64_t samples_, features_;
  const T *logits_, *target_;            // (N, ...)
  const std::vector<float> beyond_one_;  // (...) or empty
  float* loss_;                          // (1)
  const Count correct_;
};

template <class T> class BinaryCrossEntropyBackward final : public Kernel {
 public:
  explicit BinaryCrossEntropyBackward(const OperatorSpec& spec)
      : elements_(elements_of(spec.inputs[0].shape())),
        features_(elements_ / spec.inputs[0].shape()[0]),
        logits_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        beyond_one_(weights_beyond_one(spec)),
        glogits_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const float share = 1.0f / static_cast<float>(elements_);
    if (!beyond_one_.empty()) return for_each(elements_ / features_, elements_, [&](int64_t sample) { run_sample(sample, share); });
    for_all_registers(elements_, [&]<bool Partial>(int64_t at, int width) {
      const Floats difference = sigmoid(load<Partial>(logits_ + at, width)) - load<Partial>(target_ + at, width);
      store<Partial>(glogits_ + at, difference * share, width);
    });
  }

 private:
  void run_sample(int64_t sample, float share) const {
    const int64_t first = sample * features_;
    for_each_register(0, features_, [&]<bool Partial>(int64_t at, int width) {
      const Floats x = load<Partial>(logits_ + first + at, width), t = load<Partial>(target_ + first + at, width);
      const Floats beyond = load<Partial>(beyond_one_.data() + at, width) * t * sigmoid(-x);
      store<Partial>(glogits_ + first + at, (sigmoid(x) - t - beyond) * share, width);
    });
  }

  const int64_t elements_, features_;
  const T *logits_, *target_;
  const std::vector<float> beyond_one_;  // of a sample's elements, or empty
  T* glogits_;
};

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"binaryCrossEntropy",
       {{"logits", canonical}, {"target", canonical}},
       {{"loss", parameter}, {"correct", count, true}},
       check_binary_cross_entropy<Shapes>,
       make_typed<BinaryCrossEntropy>},
      {"binaryCrossEntropyBackward",
       {{"logits", canonical}, {"target", canonical}},
       {{"glogits", canonical}},
       check_binary_cross_entropy_backward<Shapes>,
       make_typed<BinaryCrossEntropyBackward>,
       {{0, 0}, {0, 1}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
