// Binary cross-entropy of logits: the mean over all elements of log(1 + e^x) - t x, and its gradient (sigmoid(x) - t) / elements. A sample
// counts as correct where each of its logits lies on its target's side: above 0 just where the target is above 1/2.
#include "cpu/kernels/count.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/logarithm.h"
#include "cpu/kernels/sigmoid.h"

namespace arbalest::kernels {
namespace {

// Elements whose sum is kept in float before it is added up in double.
constexpr int64_t kRun = 64 * kLanes;

template <class T> class BinaryCrossEntropy final : public Kernel {
 public:
  explicit BinaryCrossEntropy(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        features_(elements_of(spec.inputs[0].shape()) / samples_),
        logits_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        loss_(output<float>(spec, 0)),
        correct_(spec, 1) {}

  void run(const StepContext&) override {
    const int64_t elements = samples_ * features_;
    double total = 0;
    for (int64_t begin = 0; begin < elements; begin += kRun) total += loss_of(begin, begin + kRun < elements ? begin + kRun : elements);
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

  bool right(int64_t sample) const {
    Ints wrong{};
    for_each_register(sample * features_, (sample + 1) * features_, [&]<bool Partial>(int64_t at, int width) {
      const Floats x = load<Partial>(logits_ + at, width), t = load<Partial>(target_ + at, width);
      wrong |= ((x > 0.0f) ^ (t > 0.5f)) | (x != x);
    });
    return !any(wrong);
  }

  const int64_t samples_, features_;
  const T *logits_, *target_;  // (N, ...)
  float* loss_;                // (1)
  const Count correct_;
};

template <class T> class BinaryCrossEntropyBackward final : public Kernel {
 public:
  explicit BinaryCrossEntropyBackward(const OperatorSpec& spec)
      : elements_(elements_of(spec.inputs[0].shape())),
        logits_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        glogits_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const float share = 1.0f / static_cast<float>(elements_);
    for_all_registers(elements_, [&]<bool Partial>(int64_t at, int width) {
      const Floats difference = sigmoid(load<Partial>(logits_ + at, width)) - load<Partial>(target_ + at, width);
      store<Partial>(glogits_ + at, difference * share, width);
    });
  }

 private:
  const int64_t elements_;
  const T *logits_, *target_;
  T* glogits_;
};

void check_forward(const Shapes& shapes) {
  shapes.input_is(1, shapes.input(0));
  shapes.output_is(0, {1});
  shapes.output_is(1, {1});
}

void check_backward(const Shapes& shapes) {
  shapes.input_is(1, shapes.input(0));
  shapes.output_is(0, shapes.input(0));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"binaryCrossEntropy",
       {{"logits", canonical}, {"target", canonical}},
       {{"loss", parameter}, {"correct", count, true}},
       check_forward,
       make_typed<BinaryCrossEntropy>},
      {"binaryCrossEntropyBackward",
       {{"logits", canonical}, {"target", canonical}},
       {{"glogits", canonical}},
       check_backward,
       make_typed<BinaryCrossEntropyBackward>,
       {{0, 0}, {0, 1}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
