// The mean over all pixels of each channel: (N, C, H, W) to (N, C).
#include "cpu/kernels/channels.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

template <class T> class GlobalAveragePool final : public Kernel {
 public:
  explicit GlobalAveragePool(const OperatorSpec& spec)
      : layout_(activation_of(spec.inputs[0].spec)), channels_(spec.inputs[0].shape()[1]), x_(input<T>(spec, 0)), y_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for_each(groups * layout_.images, layout_.elements, [&](int64_t item) {
      const ChannelGroup& group = layout_.groups[item % groups];
      for_registers(group, [&]<int Vectors, bool Partial>() { pool<Vectors, Partial>(group, item / groups); });
    });
  }

 private:
  template <int Vectors, bool Partial> void pool(const ChannelGroup& group, int64_t image) const {
    Floats sums[Vectors] = {};
    const T* row = x_ + layout_.at(group, image);
    for_each_piece(layout_.rows, [&](int64_t, int64_t rows) {
      Floats piece[Vectors] = {};
      for (int64_t i = 0; i < rows; ++i, row += layout_.row_stride) {
        for (int v = 0; v < Vectors; ++v) piece[v] += load<Partial>(row + v * kLanes, group.width);
      }
      for (int v = 0; v < Vectors; ++v) sums[v] += piece[v];
    });
    if (layout_.tail) sums[0] += load<true>(row, layout_.tail);
    float channels[kMostWidth];
    gather(group, channels, sums);
    const float share = 1.0f / static_cast<float>(layout_.elements_a_channel / layout_.images);
    for (int c = 0; c < group.channels; ++c) y_[image * channels_ + group.channel + c] = from_float<T>(channels[c] * share);
  }

  const ChannelGroups layout_;
  const int64_t channels_;
  const T* x_;
  T* y_;
};

template <class T> class GlobalAveragePoolBackward final : public Kernel {
 public:
  explicit GlobalAveragePoolBackward(const OperatorSpec& spec)
      : layout_(activation_of(spec.outputs[0].spec)),
        channels_(spec.outputs[0].shape()[1]),
        gy_(input<T>(spec, 0)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const auto groups = static_cast<int64_t>(layout_.groups.size());
    for_each(groups * layout_.images, layout_.elements, [&](int64_t item) {
      const ChannelGroup& group = layout_.groups[item % groups];
      for_registers(group, [&]<int Vectors, bool Partial>() { spread_rows<Vectors, Partial>(group, item / groups); });
    });
  }

 private:
  template <int Vectors, bool Partial> void spread_rows(const ChannelGroup& group, int64_t image) const {
    const float share = 1.0f / static_cast<float>(layout_.elements_a_channel / layout_.images);
    float channels[kMostWidth], lanes[kMostWidth];
    for (int c = 0; c < group.channels; ++c) channels[c] = to_float(gy_[image * channels_ + group.channel + c]) * share;
    spread(group, lanes, channels);
    T* row = gx_ + layout_.at(group, image);
    for (int64_t i = 0; i < layout_.rows; ++i, row += layout_.row_stride) {
      for (int v = 0; v < Vectors; ++v) store<Partial>(row + v * kLanes, load(lanes + v * kLanes), group.width);
    }
    if (layout_.tail) store<true>(row, load(lanes), layout_.tail);
  }

  const ChannelGroups layout_;
  const int64_t channels_;
  const T* gy_;
  T* gx_;
};

void check_forward(const Shapes& shapes) {
  shapes.input_rank(0, 4);
  shapes.output_is(0, {shapes.input(0)[0], shapes.input(0)[1]});
}

void check_backward(const Shapes& shapes) {
  shapes.output_rank(0, 4);
  shapes.input_is(0, {shapes.output(0)[0], shapes.output(0)[1]});
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"globalAvgPool", {{"x", activation}}, {{"y", activation}}, check_forward, make_typed<GlobalAveragePool>},
      {"globalAvgPoolBackward", {{"gy", activation}}, {{"gx", activation}}, check_backward, make_typed<GlobalAveragePoolBackward>},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
