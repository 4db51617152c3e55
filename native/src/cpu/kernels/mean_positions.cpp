// The mean of the positions of a sequence, and its gradient.
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {
namespace {

template <class T> class MeanPositions final : public Kernel {
 public:
  explicit MeanPositions(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        length_(spec.inputs[0].shape()[1]),
        features_(spec.inputs[0].shape()[2]),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const float share = 1 / static_cast<float>(length_);
    for_each(samples_, samples_ * length_ * features_, [&](int64_t sample) {
      const T* x = x_ + sample * length_ * features_;
      for_each_register(0, features_, [&]<bool Partial>(int64_t at, int width) {
        Floats sum{};
        for (int64_t t = 0; t < length_; ++t) sum += load<Partial>(x + t * features_ + at, width);
        store<Partial>(y_ + sample * features_ + at, sum * share, width);
      });
    });
  }

 private:
  const int64_t samples_, length_, features_;
  const T* x_;  // (N, T, F)
  T* y_;        // (N, F)
};

template <class T> class MeanPositionsBackward final : public Kernel {
 public:
  explicit MeanPositionsBackward(const OperatorSpec& spec)
      : samples_(spec.outputs[0].shape()[0]),
        length_(spec.outputs[0].shape()[1]),
        features_(spec.outputs[0].shape()[2]),
        gy_(input<T>(spec, 0)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const float share = 1 / static_cast<float>(length_);
    for_each(samples_, samples_ * length_ * features_, [&](int64_t sample) {
      T* gx = gx_ + sample * length_ * features_;
      for_each_register(0, features_, [&]<bool Partial>(int64_t at, int width) {
        const Floats gradient = load<Partial>(gy_ + sample * features_ + at, width) * share;
        for (int64_t t = 0; t < length_; ++t) store<Partial>(gx + t * features_ + at, gradient, width);
      });
    });
  }

 private:
  const int64_t samples_, length_, features_;
  const T* gy_;  // (N, F)
  T* gx_;        // (N, T, F)
};

void check_mean(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  const Shape& x = shapes.input(0);
  shapes.output_is(0, {x[0], x[2]});
}

void check_mean_backward(const Shapes& shapes) {
  shapes.output_rank(0, 3);
  const Shape& gx = shapes.output(0);
  shapes.input_is(0, {gx[0], gx[2]});
}

using enum Role;
const Registered kRegistered{{
    {"meanPositions", {{"x", canonical}}, {{"y", canonical}}, check_mean, make_typed<MeanPositions>},
    {"meanPositionsBackward", {{"gy", canonical}}, {{"gx", canonical}}, check_mean_backward, make_typed<MeanPositionsBackward>},
}};

}  // namespace
}  // namespace arbalest::kernels
