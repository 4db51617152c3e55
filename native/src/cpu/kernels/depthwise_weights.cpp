// The gradient of the weights of conv2d with one filter of 3x3 a channel and stride 1.
#include "cpu/kernels/depthwise.h"

namespace arbalest::kernels {
namespace {

using namespace depthwise;

// Outputs of a row that are read at once: their gradients and the sums of all taps fit into registers.
constexpr int kOutputs = 4;
// Outputs of a channel that are summed in float before their sum is added up in double.
constexpr int64_t kOutputsInFloat = 1024;

// The sums of one register of channels: nine taps, and gy itself.
struct Sums {
  Floats tap[kTaps] = {}, gradient{};
};

struct Totals {
  double tap[kTaps][kLanes] = {}, gradient[kLanes] = {};

  void add(const Sums& sums) {
    for (int t = 0; t < kTaps; ++t) add(tap[t], sums.tap[t]);
    add(gradient, sums.gradient);
  }

 private:
  static void add(double (&total)[kLanes], Floats sum) {
    for (int c = 0; c < kLanes; ++c) total[c] += static_cast<double>(sum[c]);
  }
};

// Adds what Count outputs from column `ow` on give to each tap; they lie under the columns of `rows` from `first` on.
template <int Count, bool Edge>
[[gnu::always_inline]] inline void add_outputs(Sums& sums, const Row<const float> (&rows)[kSide], const Row<const float>& gradients,
                                               int64_t ow, int64_t first) {
  Floats g[Count];
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) sums.gradient += g[i] = gradients.at(ow + i);
#pragma GCC unroll 3
  for (int kh = 0; kh < kSide; ++kh) {
    if (!rows[kh].inside()) continue;
#pragma GCC unroll 12
    for (int i = 0; i < Count - 1 + kSide; ++i) {
      if (Edge && !rows[kh].has(first + i)) continue;
      const Floats x = rows[kh].at(first + i);
#pragma GCC unroll 3
      for (int tap = 0; tap < kSide; ++tap) {
        if (i - tap >= 0 && i - tap < Count) sums.tap[kh * kSide + tap] += x * g[i - tap];
      }
    }
  }
}

class DepthwiseWeights final : public Kernel {
 public:
  explicit DepthwiseWeights(const OperatorSpec& spec)
      : x_view_(activation_of(spec.inputs[0].spec)),
        y_view_(activation_of(spec.inputs[1].spec)),
        at_(spec.attributes, spec.inputs[0].shape(), spec.inputs[1].shape()),
        lanes_(lanes_of(x_view_)),
        x_(input<float>(spec, 0)),
        gy_(input<float>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        sums_(spec, lanes_.size()),
        totals_(lanes_.size()) {}

  // One thread goes through the images in the order of memory, as the forward pass does; several share the channels.
  void run(const StepContext&) override {
    const auto registers = static_cast<int64_t>(lanes_.size()), elements = x_view_.elements();
    const int64_t share = worth_threads(elements) ? 1 : registers;
    for_each(registers / share, elements, [&](int64_t item) { sum_up(item * share, (item + 1) * share); });
  }

 private:
  // Registers of channels [begin, end).
  void sum_up(int64_t begin, int64_t end) {
    const int64_t chunk = std::max<int64_t>(1, kOutputsInFloat / y_view_.pixels());
    for (int64_t i = begin; i < end; ++i) totals_[i] = {}, sums_[i] = {};
    for (int64_t image = 0; image < x_view_.images; ++image) {
      const bool full = (image + 1) % chunk == 0 || image + 1 == x_view_.images;
      for (int64_t i = begin; i < end; ++i) {
        add_plane(sums_[i], lanes_[i], image);
        if (full) totals_[i].add(std::exchange(sums_[i], {}));
      }
    }
    for (int64_t i = begin; i < end; ++i) write(lanes_[i], totals_[i]);
  }

  void add_plane(Sums& sums, const Lanes& lanes, int64_t image) const {
    const float *x = x_ + begin_of(x_view_, image, lanes), *gy = gy_ + begin_of(y_view_, image, lanes);
    Sums here = sums;  // in registers
    for (int64_t oh = 0; oh < y_view_.height; ++oh) {
      const int64_t top = oh - at_.rows.padding;
      const auto row = [&](int64_t h) { return Row<const float>::of(x_view_, x, h); };
      const Row<const float> rows[kSide] = {row(top), row(top + 1), row(top + 2)}, gradients = Row<const float>::of(y_view_, gy, oh);
      in_pieces<kOutputs>(y_view_.width, [&]<int Count>(int64_t ow) [[gnu::always_inline]] {
        const int64_t first = ow - at_.columns.padding;
        if (first < 0 || first + Count - 1 + kSide > x_view_.width)
          add_outputs<Count, true>(here, rows, gradients, ow, first);
        else
          add_outputs<Count, false>(here, rows, gradients, ow, first);
      });
    }
    sums = here;
  }

  void write(const Lanes& lanes, const Totals& totals) const {
    for (int c = 0; c < lanes.channels; ++c) {
      for (int t = 0; t < kTaps; ++t) gw_[(lanes.channel + c) * kTaps + t] = static_cast<float>(totals.tap[t][c]);
      if (gb_) gb_[lanes.channel + c] = static_cast<float>(totals.gradient[c]);
    }
  }

  const Activation x_view_, y_view_;
  const Geometry at_;
  const std::vector<Lanes> lanes_;
  const float *x_, *gy_;
  float *gw_, *gb_;          // (C, 1, 3, 3), (C)
  PlannedItems<Sums> sums_;  // by register of channels
  std::vector<Totals> totals_;
};

size_t scratch_weights(const Shapes&, const LoweringAnswer& answer) {
  return lanes_of(activation_of(answer.inputs[0])).size() * sizeof(Sums);
}

void check_weights(const Shapes& shapes) {
  const Shape y = result_of(shapes.attributes(), shapes.input(0));
  shapes.input_is(1, y);
  shapes.output_is(1, {y[1]});
}

// With stride 2 oneDNN is faster.
bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return request.attributes.list("stride") == std::vector<double>{1, 1} &&
         takes_shapes(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0), layout);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2dBackwardWeights",
       .inputs = {{"x", activation}, {"gy", activation}},
       .outputs = {{"gw", parameter}, {"gb", parameter, true}},
       .check = check_weights,
       .make = make_only<DepthwiseWeights>,
       .scratch = scratch_weights,
       .takes = takes_weights},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
