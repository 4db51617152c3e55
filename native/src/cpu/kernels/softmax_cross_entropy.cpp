// Softmax and cross-entropy in one: the mean over the batch of log(sum exp z) - z[label], the probabilities that its gradient needs, and
// the number of samples whose class has the first of the largest logits.
#include <cmath>
#include <limits>

#include "elementwise.h"
#include "exponential.h"
#include "operator.h"

namespace arbalest::kernels {
namespace {

void check_label(int32_t label, int64_t sample, int64_t classes) {
  if (label >= 0 && label < classes) return;
  throw Error("LABEL_OUT_OF_RANGE", "target of sample " + std::to_string(sample) + " of the batch: received " + std::to_string(label) +
                                        "; give a class number from 0 to " + std::to_string(classes - 1));
}

template <class T> class SoftmaxCrossEntropy final : public Kernel {
 public:
  explicit SoftmaxCrossEntropy(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        classes_(spec.inputs[0].shape()[1]),
        logits_(input<T>(spec, 0)),
        target_(input<int32_t>(spec, 1)),
        loss_(output<float>(spec, 0)),
        probabilities_(output<T>(spec, 1)) {
    if (spec.outputs.size() > 2 && spec.outputs[2].spec.type == Type::i32)
      whole_correct_ = output<int32_t>(spec, 2);
    else
      correct_ = output<float>(spec, 2);
    row_.resize(static_cast<size_t>(classes_ + kLanes));
  }

  void run(const StepContext&) override {
    double loss = 0;
    int32_t correct = 0;
    for (int64_t sample = 0; sample < samples_; ++sample) {
      check_label(target_[sample], sample, classes_);
      loss += run_sample(sample, correct);
    }
    *loss_ = static_cast<float>(loss / static_cast<double>(samples_));
    if (correct_) *correct_ = static_cast<float>(correct);
    if (whole_correct_) *whole_correct_ = correct;
  }

 private:
  double run_sample(int64_t sample, int32_t& correct) {
    const T* z = logits_ + sample * classes_;
    const int32_t label = target_[sample];
    // The first of the largest: what comes before the label must be less, what comes after not greater. A NaN is never right.
    const float labelled = to_float(z[label]);
    float highest = -std::numeric_limits<float>::infinity();
    bool right = labelled == labelled;
    for (int64_t k = 0; k < classes_; ++k) {
      const float value = to_float(z[k]);
      highest = value > highest ? value : highest;
      right &= k < label ? value < labelled : !(value > labelled);
    }
    correct += right;

    Floats sums{};
    for_each_register(0, classes_, [&]<bool Partial>(int64_t at, int width) {
      Floats power = exponential(load<Partial>(z + at, width) - highest);
      if constexpr (Partial) power = lane_numbers() < width ? power : Floats{};
      store(row_.data() + at, power);
      sums += power;
    });
    const double sum = sum_of(sums);
    if (probabilities_) {
      const auto share = static_cast<float>(1 / sum);
      T* p = probabilities_ + sample * classes_;
      for_each_register(0, classes_,
                        [&]<bool Partial>(int64_t at, int width) { store<Partial>(p + at, load(row_.data() + at) * share, width); });
    }
    return std::log(sum) + static_cast<double>(highest) - static_cast<double>(labelled);
  }

  const int64_t samples_, classes_;
  const T* logits_;        // (N, K)
  const int32_t* target_;  // (N)
  float* loss_;            // (1)
  T* probabilities_;       // (N, K) or null
  float* correct_ = nullptr;
  int32_t* whole_correct_ = nullptr;
  std::vector<float> row_;  // one sample's powers, whole registers
};

template <class T> class SoftmaxCrossEntropyBackward final : public Kernel {
 public:
  explicit SoftmaxCrossEntropyBackward(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        classes_(spec.inputs[0].shape()[1]),
        probabilities_(input<T>(spec, 0)),
        target_(input<int32_t>(spec, 1)),
        glogits_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const float share = 1.0f / static_cast<float>(samples_);
    for (int64_t sample = 0; sample < samples_; ++sample) {
      const int32_t label = target_[sample];
      check_label(label, sample, classes_);
      const T* p = probabilities_ + sample * classes_;
      T* g = glogits_ + sample * classes_;
      const float labelled = (to_float(p[label]) - 1.0f) * share;
      for_each_register(0, classes_,
                        [&]<bool Partial>(int64_t at, int width) { store<Partial>(g + at, load<Partial>(p + at, width) * share, width); });
      g[label] = from_float<T>(labelled);
    }
  }

 private:
  const int64_t samples_, classes_;
  const T* probabilities_;  // (N, K)
  const int32_t* target_;   // (N)
  T* glogits_;              // (N, K)
};

void check_forward(const Shapes& shapes) {
  shapes.input_axes(0, 2);
  const Shape& logits = shapes.input(0);
  shapes.input_is(1, {logits[0]});
  shapes.output_is(0, {1});
  shapes.output_is(1, logits);
  shapes.output_is(2, {1});
}

void check_backward(const Shapes& shapes) {
  shapes.input_axes(0, 2);
  shapes.input_is(1, {shapes.input(0)[0]});
  shapes.output_is(0, shapes.input(0));
}

}  // namespace

std::vector<Operator> softmax_cross_entropy_operators() {
  using enum Role;
  return {
      {"softmaxCrossEntropy",
       {{"logits", canonical}, {"target", label}},
       {{"loss", parameter}, {"probabilities", canonical, true}, {"correct", count, true}},
       check_forward,
       make_typed<SoftmaxCrossEntropy>,
       {{1, 0}}},
      {"softmaxCrossEntropyBackward",
       {{"probabilities", canonical}, {"target", label}},
       {{"glogits", canonical}},
       check_backward,
       make_typed<SoftmaxCrossEntropyBackward>,
       {{0, 0}}},
  };
}

}  // namespace arbalest::kernels
