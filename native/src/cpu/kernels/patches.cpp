// Pixels of images as positions of sequences, a token before each sequence, one position of each; and their gradients.
#include "cpu/kernels/channel_runs.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"
#include "cpu/sequence_length.h"

namespace arbalest::kernels {
namespace {

// Channels of the block, without padding lanes.
int64_t used_lanes(const Activation& view, int64_t block) { return std::min(view.lanes, view.channels - block * view.lanes); }

template <class T> class ImagePositions final : public Kernel {
 public:
  explicit ImagePositions(const OperatorSpec& spec)
      : view_(activation_of(spec.inputs[0].spec)), x_(input<T>(spec, 0)), y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(view_.images * view_.blocks, view_.elements(), [&](int64_t item) {
      const int64_t image = item / view_.blocks, block = item % view_.blocks;
      T* to = y_ + image * view_.pixels() * view_.channels + block * view_.lanes;
      copy_lanes(x_ + view_.offset(image, block), view_.lanes, to, view_.channels, used_lanes(view_, block), view_.pixels());
    });
  }

 private:
  const Activation view_;
  const T* x_;  // (N, C, H, W)
  T* y_;        // (N, H * W, C)
};

template <class T> class ImagePositionsBackward final : public Kernel {
 public:
  explicit ImagePositionsBackward(const OperatorSpec& spec)
      : view_(activation_of(spec.outputs[0].spec)), gy_(input<T>(spec, 0)), gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(view_.images * view_.blocks, view_.elements(), [&](int64_t item) {
      const int64_t image = item / view_.blocks, block = item % view_.blocks;
      const T* from = gy_ + image * view_.pixels() * view_.channels + block * view_.lanes;
      copy_lanes(from, view_.channels, gx_ + view_.offset(image, block), view_.lanes, used_lanes(view_, block), view_.pixels());
    });
    clear_padding(view_, gx_);
  }

 private:
  const Activation view_;
  const T* gy_;  // (N, H * W, C)
  T* gx_;        // (N, C, H, W)
};

template <class T> class ClassToken final : public Kernel {
 public:
  explicit ClassToken(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        features_(spec.inputs[0].shape()[2]),
        sequence_(spec.inputs[0].shape()[1] * features_),
        x_(input<T>(spec, 0)),
        token_(input<float>(spec, 1)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for_each(samples_, samples_ * (features_ + sequence_), [&](int64_t sample) {
      T* y = y_ + sample * (features_ + sequence_);
      for_each_register(0, features_,
                        [&]<bool Partial>(int64_t at, int width) { store<Partial>(y + at, load<Partial>(token_ + at, width), width); });
      std::memcpy(static_cast<void*>(y + features_), x_ + sample * sequence_, static_cast<size_t>(sequence_) * sizeof(T));
    });
  }

 private:
  const int64_t samples_, features_, sequence_;
  const T* x_;          // (N, T, F)
  const float* token_;  // (1, 1, F)
  T* y_;                // (N, 1 + T, F)
};

template <class T> class ClassTokenBackward final : public Kernel {
 public:
  explicit ClassTokenBackward(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        features_(spec.inputs[0].shape()[2]),
        sequence_((spec.inputs[0].shape()[1] - 1) * features_),
        gy_(input<T>(spec, 0)),
        gx_(output<T>(spec, 0)),
        gtoken_(output<float>(spec, 1)) {}

  void run(const StepContext&) override {
    const int64_t stride = features_ + sequence_;
    if (gtoken_) {
      for_each_register(0, features_, [&]<bool Partial>(int64_t at, int width) {
        Floats sum{};
        for (int64_t sample = 0; sample < samples_; ++sample) sum += load<Partial>(gy_ + sample * stride + at, width);
        store<Partial>(gtoken_ + at, sum, width);
      });
    }
    if (!gx_) return;
    for_each(samples_, samples_ * sequence_, [&](int64_t sample) {
      const T* from = gy_ + sample * stride + features_;
      std::memcpy(static_cast<void*>(gx_ + sample * sequence_), from, static_cast<size_t>(sequence_) * sizeof(T));
    });
  }

 private:
  const int64_t samples_, features_, sequence_;
  const T* gy_;    // (N, 1 + T, F)
  T* gx_;          // (N, T, F) or null
  float* gtoken_;  // (1, 1, F) or null
};

template <class T> class TakePosition final : public Kernel {
 public:
  explicit TakePosition(const OperatorSpec& spec)
      : samples_(spec.inputs[0].shape()[0]),
        features_(spec.inputs[0].shape()[2]),
        length_(spec.inputs[0].shape()[1]),
        position_(static_cast<int64_t>(spec.attributes.number("position"))),
        x_(input<T>(spec, 0)),
        lengths_(input<float>(spec, 1)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    for (int64_t sample = 0; sample < samples_; ++sample) {
      const int64_t at = position_of(position_, lengths_, sample, length_);
      T* const to = y_ + sample * features_;
      if (at < 0)
        std::fill_n(to, features_, T{});
      else
        std::copy_n(x_ + (sample * length_ + at) * features_, features_, to);
    }
  }

 private:
  const int64_t samples_, features_, length_, position_;
  const T* x_;            // (N, T, F)
  const float* lengths_;  // (N) or null
  T* y_;                  // (N, F)
};

template <class T> class TakePositionBackward final : public Kernel {
 public:
  explicit TakePositionBackward(const OperatorSpec& spec)
      : samples_(spec.outputs[0].shape()[0]),
        features_(spec.outputs[0].shape()[2]),
        length_(spec.outputs[0].shape()[1]),
        position_(static_cast<int64_t>(spec.attributes.number("position"))),
        gy_(input<T>(spec, 0)),
        lengths_(input<float>(spec, 1)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const int64_t sequence = length_ * features_;
    for_each(samples_, samples_ * sequence, [&](int64_t sample) {
      T* const gx = gx_ + sample * sequence;
      std::fill_n(gx, sequence, T{});
      const int64_t at = position_of(position_, lengths_, sample, length_);
      if (at >= 0) std::copy_n(gy_ + sample * features_, features_, gx + at * features_);
    });
  }

 private:
  const int64_t samples_, features_, length_, position_;
  const T* gy_;           // (N, F)
  const float* lengths_;  // (N) or null
  T* gx_;                 // (N, T, F)
};

Shape as_sequence(const Shape& image) { return {image[0], image[2] * image[3], image[1]}; }

void check_image_positions(const Shapes& shapes) {
  shapes.input_rank(0, 4);
  shapes.output_is(0, as_sequence(shapes.input(0)));
}

void check_image_positions_backward(const Shapes& shapes) {
  shapes.output_rank(0, 4);
  shapes.input_is(0, as_sequence(shapes.output(0)));
}

void check_class_token(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  const Shape& x = shapes.input(0);
  shapes.input_is(1, {1, 1, x[2]});
  shapes.output_is(0, {x[0], x[1] + 1, x[2]});
}

void check_class_token_backward(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  const Shape& gy = shapes.input(0);
  if (gy[1] < 2) shapes.refuse("shape of gy", shown(gy), "give it at least 2 positions");
  shapes.output_is(0, {gy[0], gy[1] - 1, gy[2]});
  shapes.output_is(1, {1, 1, gy[2]});
}

void check_take_position(const Shapes& shapes) {
  shapes.input_rank(0, 3);
  shapes.output_is(0, checked_position(shapes, shapes.input(0)));
}

void check_take_position_backward(const Shapes& shapes) {
  shapes.output_rank(0, 3);
  shapes.input_is(0, checked_position(shapes, shapes.output(0)));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"imagePositions", {{"x", activation}}, {{"y", canonical}}, check_image_positions, make_typed<ImagePositions>},
      {"imagePositionsBackward",
       {{"gy", canonical}},
       {{"gx", activation}},
       check_image_positions_backward,
       make_typed<ImagePositionsBackward>},
      {"classToken", {{"x", canonical}, {"token", parameter}}, {{"y", canonical}}, check_class_token, make_typed<ClassToken>},
      {"classTokenBackward",
       {{"gy", canonical}},
       {{"gx", canonical, true}, {"gtoken", parameter, true}},
       check_class_token_backward,
       make_typed<ClassTokenBackward>},
      {"takePosition", {{"x", canonical}, {"lengths", parameter, true}}, {{"y", canonical}}, check_take_position, make_typed<TakePosition>},
      {"takePositionBackward",
       {{"gy", canonical}, {"lengths", parameter, true}},
       {{"gx", canonical}},
       check_take_position_backward,
       make_typed<TakePositionBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
