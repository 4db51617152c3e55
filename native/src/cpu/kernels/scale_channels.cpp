// Each channel of an image by a number of its own: x (N, C, H, W) and factors (N, C), as squeeze-and-excitation has it (Hu et al., CVPR
// 2018).
#include "cpu/kernels/channels.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

// A group's factors in one image, as they lie in a row.
template <class T> class Factors {
 public:
  Factors(const ChannelGroup& group, const T* factors) {
    float channels[kMostWidth];
    for (int c = 0; c < group.channels; ++c) channels[c] = to_float(factors[group.channel + c]);
    spread(group, lanes_, channels);
  }
  Floats operator[](int vector) const { return load(lanes_ + vector * kLanes); }

 private:
  float lanes_[kMostWidth];
};

template <class T> class ScaleChannels final : public Kernel {
 public:
  explicit ScaleChannels(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        channels_(spec.inputs[0].shape()[1]),
        x_(input<T>(spec, 0)),
        factors_(input<T>(spec, 1)),
        y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for_each(groups * layout_.images, layout_.elements, [&](int64_t item) {
      const ChannelGroup& group = layout_.groups[item % groups];
      for_registers(group, [&]<int Vectors, bool Partial>() { scale<Vectors, Partial>(group, item / groups); });
    });
  }

 private:
  template <int Vectors, bool Partial> void scale(const ChannelGroup& group, int64_t image) const {
    const Factors<T> factors(group, factors_ + image * channels_);
    int64_t at = layout_.at(group, image);
    for (int64_t i = 0; i < layout_.rows; ++i, at += layout_.row_stride) {
      for (int v = 0; v < Vectors; ++v) {
        const int64_t element = at + v * kLanes;
        store<Partial>(y_ + element, load<Partial>(x_ + element, group.width) * factors[v], group.width);
      }
    }
    if (layout_.tail) store<true>(y_ + at, load<true>(x_ + at, layout_.tail) * factors[0], layout_.tail);
  }

  const ChannelGroups layout_;
  const int64_t channels_;
  const T *x_, *factors_;
  T* y_;  // may be x
};

// gx = gy * factors, and gfactors, the sum of gy * x over the pixels of each channel.
template <class T> class ScaleChannelsBackward final : public Kernel {
 public:
  explicit ScaleChannelsBackward(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)),
        channels_(spec.inputs[0].shape()[1]),
        x_(input<T>(spec, 0)),
        factors_(input<T>(spec, 1)),
        gy_(input<T>(spec, 2)),
        gx_(output<T>(spec, 0)),
        gfactors_(output<T>(spec, 1)) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for_each(groups * layout_.images, layout_.elements, [&](int64_t item) {
      const ChannelGroup& group = layout_.groups[item % groups];
      for_registers(group, [&]<int Vectors, bool Partial>() { differentiate<Vectors, Partial>(group, item / groups); });
    });
  }

 private:
  template <int Vectors, bool Partial> void differentiate(const ChannelGroup& group, int64_t image) const {
    const Factors<T> factors(group, factors_ + image * channels_);
    Floats sums[Vectors] = {};
    const auto pass = [&]<bool Less>(int64_t at, int v, int width, Floats& sum) {
      const Floats gradient = load<Less>(gy_ + at, width);
      sum += gradient * load<Less>(x_ + at, width);
      if (gx_) store<Less>(gx_ + at, gradient * factors[v], width);
    };
    int64_t at = layout_.at(group, image);
    for_each_piece(layout_.rows, [&](int64_t, int64_t rows) {
      Floats piece[Vectors] = {};
      for (int64_t i = 0; i < rows; ++i, at += layout_.row_stride) {
        for (int v = 0; v < Vectors; ++v) pass.template operator()<Partial>(at + v * kLanes, v, group.width, piece[v]);
      }
      for (int v = 0; v < Vectors; ++v) sums[v] += piece[v];
    });
    if (layout_.tail) pass.template operator()<true>(at, 0, layout_.tail, sums[0]);
    if (!gfactors_) return;
    float channels[kMostWidth];
    gather(group, channels, sums);
    for (int c = 0; c < group.channels; ++c) gfactors_[image * channels_ + group.channel + c] = from_float<T>(channels[c]);
  }

  const ChannelGroups layout_;
  const int64_t channels_;
  const T *x_, *factors_, *gy_;
  T *gx_, *gfactors_;  // gx may be gy; either may be absent
};

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"scaleChannels",
       {{"x", activation}, {"factors", activation}},
       {{"y", activation}},
       check_scaled_channels,
       make_typed<ScaleChannels>,
       {{0, 0}}},
      {"scaleChannelsBackward",
       {{"x", activation}, {"factors", activation}, {"gy", activation}},
       {{"gx", activation, true}, {"gfactors", activation, true}},
       check_scaled_channels_gradient,
       make_typed<ScaleChannelsBackward>,
       {{0, 2}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
