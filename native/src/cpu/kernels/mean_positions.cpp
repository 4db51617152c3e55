// The lengths of padded sequences; the mean of the positions of a sequence, or of those before its length, and its gradient.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"
#include "cpu/sequence_length.h"

namespace arbalest::kernels {
namespace {

// The positions up to the last token that is not padding.
class Lengths final : public Kernel {
 public:
  explicit Lengths(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        length_(spec.inputs[0].shape()[1]),
        padding_(static_cast<int32_t>(spec.attributes.number("padding"))),
        tokens_(input<int32_t>(spec, 0)),
        y_(output<float>(spec, 0)) {}

  void run(const StepContext&) override {
    for (int64_t sample = 0; sample < samples_; ++sample) {
      int64_t length = length_;
      while (length > 0 && tokens_[sample * length_ + length - 1] == padding_) --length;
      y_[sample] = static_cast<float>(length);
    }
  }

 private:
  const int64_t samples_, length_;
  const int32_t padding_;
  const int32_t* tokens_;  // (N, T)
  float* y_;               // (N)
};

template <class T> class MeanPositions final : public Kernel {
 public:
  explicit MeanPositions(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        length_(spec.inputs[0].shape()[1]),
        features_(spec.inputs[0].shape()[2]),
        x_(input<T>(spec, 0)),
        lengths_(input<float>(spec, 1)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(samples_, samples_ * length_ * features_, [&](int64_t sample) {
      const T* x = x_ + sample * length_ * features_;
      const int64_t count = lengths_ ? length_of(lengths_[sample], length_) : length_;
      const float share = 1 / static_cast<float>(std::max<int64_t>(count, 1));
      for_each_register(0, features_, [&]<bool Partial>(int64_t at, int width) {
        Floats sum{};
        for (int64_t t = 0; t < count; ++t) sum += load<Partial>(x + t * features_ + at, width);
        store<Partial>(y_ + sample * features_ + at, sum * share, width);
      });
    });
  }

 private:
  const int64_t samples_, length_, features_;
  const T* x_;            // (N, T, F)
  const float* lengths_;  // (N) or null
  T* y_;                  // (N, F)
};

template <class T> class MeanPositionsBackward final : public Kernel {
 public:
  explicit MeanPositionsBackward(const OperatorSpec& spec)
      : samples_(spec.outputs[0].shape()[0]),
        length_(spec.outputs[0].shape()[1]),
        features_(spec.outputs[0].shape()[2]),
        gy_(input<T>(spec, 0)),
        lengths_(input<float>(spec, 1)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(samples_, samples_ * length_ * features_, [&](int64_t sample) {
      T* gx = gx_ + sample * length_ * features_;
      const int64_t count = lengths_ ? length_of(lengths_[sample], length_) : length_;
      const float share = 1 / static_cast<float>(std::max<int64_t>(count, 1));
      for_each_register(0, features_, [&]<bool Partial>(int64_t at, int width) {
        const Floats gradient = load<Partial>(gy_ + sample * features_ + at, width) * share;
        for (int64_t t = 0; t < count; ++t) store<Partial>(gx + t * features_ + at, gradient, width);
        for (int64_t t = count; t < length_; ++t) store<Partial>(gx + t * features_ + at, Floats{}, width);
      });
    });
  }

 private:
  const int64_t samples_, length_, features_;
  const T* gy_;           // (N, F)
  const float* lengths_;  // (N) or null
  T* gx_;                 // (N, T, F)
};

void check_lengths(const Shapes& shapes) {
  shapes.input_rank(0, 2);
  shapes.output_is(0, {shapes.input(0)[0]});
  shapes.whole("padding", 0, std::numeric_limits<int32_t>::max());
}

std::unique_ptr<Kernel> make_lengths(const OperatorSpec& spec) { return std::make_unique<Lengths>(spec); }

void check_mean(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  const Shape& x = shapes.input(0);
  if (shapes.has_input(1)) shapes.input_is(1, {x[0]});
  shapes.output_is(0, {x[0], x[2]});
}

void check_mean_backward(const Shapes& shapes) {
  shapes.output_rank(0, 3);
  const Shape& gx = shapes.output(0);
  if (shapes.has_input(1)) shapes.input_is(1, {gx[0]});
  shapes.input_is(0, {gx[0], gx[2]});
}

using enum Role;
const Registered kRegistered{{
    {"lengths", {{"tokens", label}}, {{"y", parameter}}, check_lengths, make_lengths},
    {"meanPositions", {{"x", canonical}, {"lengths", parameter, true}}, {{"y", canonical}}, check_mean, make_typed<MeanPositions>},
    {"meanPositionsBackward",
     {{"gy", canonical}, {"lengths", parameter, true}},
     {{"gx", canonical}},
     check_mean_backward,
     make_typed<MeanPositionsBackward>},
}};

}  // namespace
}  // namespace arbalest::kernels
