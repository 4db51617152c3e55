// The gradient of the weights of conv2d with groups of few channels.
#include "cpu/kernels/narrow_groups.h"

namespace arbalest::kernels {
namespace {

using namespace narrow_groups;

// Outputs of a channel that are summed in float before their sum is added up in double.
constexpr int64_t kOutputsInFloat = 1024;

// The sums of one register of channels, whose lanes are filters: by channel of the group, all taps; and gy itself.
template <int Width, int Side> struct Sums {
  Floats tap[Width][Side][Side] = {}, gradient{};
};

template <int Width, int Side> struct Totals {
  double tap[Width][Side][Side][kLanes] = {}, gradient[kLanes] = {};

  void add(const Sums<Width, Side>& sums) {
    for (int channel = 0; channel < Width; ++channel) {
      for (int t = 0; t < Side * Side; ++t) add(tap[channel][t / Side][t % Side], sums.tap[channel][t / Side][t % Side]);
    }
    add(gradient, sums.gradient);
  }

 private:
  static void add(double (&total)[kLanes], Floats sum) {
    for (int c = 0; c < kLanes; ++c) total[c] += static_cast<double>(sum[c]);
  }
};

// What a run keeps of one register of channels.
template <int Width, int Side> struct Kept {
  Sums<Width, Side> sums;
  Totals<Width, Side> totals;

  void settle() { totals.add(std::exchange(sums, {})); }
};

// The sums that stay in registers beside the gradients of `outputs` outputs: some rows of taps, of some channels of the group.
struct Together {
  int channels, rows, outputs;
};

template <int Width, int Side> constexpr Together together() {
  constexpr bool many = kLanes >= 16;  // lanes, and registers
  if (Width > 1) return {many ? 4 : 2, 1, many ? 8 : 4};
  return Side == 3 ? Together{1, 3, 4} : Together{1, 1, many ? 8 : 4};
}

// Adds what Count outputs give to each tap of some rows; they lie under the columns of `rows` from `first` on.
template <int Width, int Stride, bool Edge, int Count, class Row, int Channels, int Rows, int Side>
[[gnu::always_inline]] inline void add_outputs(Floats (&sums)[Channels][Rows][Side], const Row (&rows)[Rows],
                                               const Floats (&gradients)[Count], int64_t first, const Spread<Width> (&spread)[Channels]) {
#pragma GCC unroll 3
  for (int r = 0; r < Rows; ++r) {
    if (!rows[r].inside()) continue;
#pragma GCC unroll 24
    for (int i = 0; i < (Count - 1) * Stride + Side; ++i) {
      if (Edge && !rows[r].has(first + i)) continue;
      const Floats pixel = rows[r].at(first + i);
#pragma GCC unroll 4
      for (int channel = 0; channel < Channels; ++channel) {
        const Floats x = spread[channel](pixel);
#pragma GCC unroll 7
        for (int tap = 0; tap < Side; ++tap) {
          const int output = (i - tap) / Stride;
          if ((i - tap) % Stride == 0 && i >= tap && output < Count) sums[channel][r][tap] += x * gradients[output];
        }
      }
    }
  }
}

template <class T, int Width, int Side, int Stride> class GroupedWeights final : public Kernel {
 public:
  explicit GroupedWeights(const OperatorSpec& spec)
      : x_view_(activation_of(spec.inputs[0].spec)),
        y_view_(activation_of(spec.inputs[1].spec)),
        at_(spec.attributes, spec.inputs[0].shape(), spec.outputs[0].shape(), spec.inputs[1].shape()),
        lanes_(lanes_of(x_view_)),
        x_(input<T>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        kept_(spec, lanes_.size()) {}

  // One thread goes through the images in the order of memory, as the forward pass does; several share the channels.
  void run(const StepContext&) override {
    const auto registers = static_cast<int64_t>(lanes_.size()), elements = x_view_.elements();
    const int64_t share = worth_threads(elements) ? 1 : registers;
    for_each(registers / share, elements, [&](int64_t item) { sum_up(item * share, (item + 1) * share); });
  }

 private:
  static constexpr Together kTogether = together<Width, Side>();

  // Registers of channels [begin, end).
  void sum_up(int64_t begin, int64_t end) {
    const int64_t chunk = std::max<int64_t>(1, kOutputsInFloat / y_view_.pixels());
    for (int64_t i = begin; i < end; ++i) kept_[i] = {};
    for (int64_t image = 0; image < x_view_.images; ++image) {
      const bool full = (image + 1) % chunk == 0 || image + 1 == x_view_.images;
      for (int64_t i = begin; i < end; ++i) {
        auto& kept = kept_[i];
        lanes_[i].whole ? add_plane<true>(kept, lanes_[i], image) : add_plane<false>(kept, lanes_[i], image);
        if (full) kept.settle();
      }
    }
    for (int64_t i = begin; i < end; ++i) write(lanes_[i], kept_[i].totals);
  }

  template <bool Whole> void add_plane(Kept<Width, Side>& kept, const Lanes& lanes, int64_t image) const {
    const int64_t rows_in_float = std::max<int64_t>(1, kOutputsInFloat / y_view_.width);
    const T *x = x_ + begin_of(x_view_, image, lanes), *gy = gy_ + begin_of(y_view_, image, lanes);
    for (int64_t oh = 0; oh < y_view_.height; ++oh) {
      const auto gradients = Row<const T, Whole>::of(y_view_, gy, oh, lanes.channels);
      for (int kh = 0; kh < Side; kh += kTogether.rows) {
        Row<const T, Whole> rows[kTogether.rows];
        for (int r = 0; r < kTogether.rows; ++r)
          rows[r] = Row<const T, Whole>::of(x_view_, x, oh * Stride - at_.rows.padding + kh + r, lanes.channels);
        for (int channel = 0; channel < Width; channel += kTogether.channels) add_row(kept.sums, rows, gradients, kh, channel);
      }
      if ((oh + 1) % rows_in_float == 0 && y_view_.pixels() > kOutputsInFloat) kept.settle();
    }
  }

  // Of one row of outputs, to the rows of taps from `kh` on and the channels of the group from `channel` on.
  template <bool Whole, int Rows>
  [[gnu::always_inline]] void add_row(Sums<Width, Side>& sums, const Row<const T, Whole> (&rows)[Rows],
                                      const Row<const T, Whole>& gradients, int kh, int channel) const {
    Spread<Width> spread[kTogether.channels];
    for (int c = 0; c < kTogether.channels; ++c) spread[c] = Spread<Width>(channel + c);
    Floats taps[kTogether.channels][Rows][Side], gradient = sums.gradient;  // in registers
    const auto each = [&](const auto& body) [[gnu::always_inline]] {
      for (int c = 0; c < kTogether.channels; ++c) {
        for (int r = 0; r < Rows; ++r) {
          for (int tap = 0; tap < Side; ++tap) body(taps[c][r][tap], sums.tap[channel + c][kh + r][tap]);
        }
      }
    };
    each([](Floats& here, const Floats& sum) { here = sum; });
    in_pieces<Whole ? kTogether.outputs : 4>(y_view_.width, [&]<int Count>(int64_t ow) [[gnu::always_inline]] {
      Floats g[Count];
#pragma GCC unroll 8
      for (int i = 0; i < Count; ++i) gradient += g[i] = gradients.at(ow + i);
      if (kh == 0 && channel == 0) {
        gradients.template fetch_ahead<Count>(ow);
        if (rows[Rows - 1].inside()) rows[Rows - 1].template fetch_ahead<Count * Stride>(ow * Stride);
      }
      const int64_t first = ow * Stride - at_.columns.padding;
      if (!Whole || first < 0 || first + (Count - 1) * Stride + Side > x_view_.width)
        add_outputs<Width, Stride, true>(taps, rows, g, first, spread);
      else if constexpr (Whole)
        add_outputs<Width, Stride, false>(taps, rows, g, first, spread);
    });
    each([](const Floats& here, Floats& sum) { sum = here; });
    if (kh == 0 && channel == 0) sums.gradient = gradient;
  }

  void write(const Lanes& lanes, const Totals<Width, Side>& totals) const {
    for (int lane = 0; lane < lanes.channels; ++lane) {
      float* const gw = gw_ + (lanes.channel + lane) * Width * Side * Side;
      for (int channel = 0; channel < Width; ++channel) {
        for (int t = 0; t < Side * Side; ++t)
          gw[channel * Side * Side + t] = static_cast<float>(totals.tap[channel][t / Side][t % Side][lane]);
      }
      if (gb_) gb_[lanes.channel + lane] = static_cast<float>(totals.gradient[lane]);
    }
  }

  const Activation x_view_, y_view_;
  const Geometry at_;
  const std::vector<Lanes> lanes_;
  const T *x_, *gy_;
  float *gw_, *gb_;                       // (C, K, S, S), (C)
  PlannedItems<Kept<Width, Side>> kept_;  // by register of channels
};

std::unique_ptr<Kernel> made(const OperatorSpec& spec) { return make<Pass::weights, GroupedWeights>(spec, spec.outputs[0].shape()); }

size_t scratch_weights(const Shapes& shapes, const LoweringAnswer& answer) {
  const Shape& w = shapes.output(0);
  const size_t sums = static_cast<size_t>(w[1] * w[2] * w[3] + 1) * kLanes;
  return lanes_of(activation_of(answer.inputs[0])).size() * sums * (sizeof(float) + sizeof(double));
}

void check_weights(const Shapes& shapes) {
  const Shape y = result_of(shapes.attributes(), shapes.input(0), shapes.output(0));
  shapes.input_is(1, y);
  shapes.output_is(1, {y[1]});
}

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return takes(Pass::weights, request, shape_at(request.inputs, 0), shape_at(request.outputs, 0), layout);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2dBackwardWeights",
       .inputs = {{"x", activation}, {"gy", activation}},
       .outputs = {{"gw", parameter}, {"gb", parameter, true}},
       .check = check_weights,
       .make = made,
       .scratch = scratch_weights,
       .takes = takes_weights},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
