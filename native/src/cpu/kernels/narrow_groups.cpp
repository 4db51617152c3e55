// conv2d with groups of few channels, and the gradient of its input.
#include "cpu/kernels/narrow_groups.h"

#include <array>

namespace arbalest::kernels {
namespace {

using namespace narrow_groups;

// Outputs of a row that are computed at once.
constexpr int kOutputs = 8;

// The weights of a register of channels: by row of the filter and channel of the group, the taps of each lane.
template <int Width, int Side> struct Taps {
  Floats tap[Side][Width][Side];

  // Of weights (C, K, S, S): a lane is a filter, and meets the channels of its group.
  static Taps forward(const float* weights, const Lanes& lanes) {
    return made([&](int lane, int channel) { return weights + ((lanes.channel + lane) * Width + channel) * Side * Side; }, lanes, false);
  }
  // A lane is a channel, and meets the filters of its group; from the last tap to the first if they are `turned`.
  static Taps backward(const float* weights, const Lanes& lanes, bool turned) {
    const auto of = [&](int lane, int filter) {
      return weights + ((lanes.channel + lane - lane % Width + filter) * Width + lane % Width) * Side * Side;
    };
    return made(of, lanes, turned);
  }

  struct OfRow {
    Floats tap[Side];
  };
  OfRow row(int64_t kh, int channel) const {
    OfRow loaded;
    for (int kw = 0; kw < Side; ++kw) loaded.tap[kw] = in_register(tap[kh][channel][kw]);
    return loaded;
  }

 private:
  template <class Of> static Taps made(const Of& of, const Lanes& lanes, bool turned) {
    Taps ordered{};
    for (int lane = 0; lane < lanes.channels; ++lane) {
      for (int channel = 0; channel < Width; ++channel) {
        const float* const taps = of(lane, channel);
        for (int t = 0; t < Side * Side; ++t) {
          const int to = turned ? Side * Side - 1 - t : t;
          ordered.tap[to / Side][channel][to % Side][lane] = taps[t];
        }
      }
    }
    return ordered;
  }
};

// sums[i] += one channel of the row under its taps, from column `first` on. At an edge, columns outside of the image are passed over.
template <int Stride, bool Edge, int Width, int Side, int Count, class Row>
[[gnu::always_inline]] inline void add_row(Floats (&sums)[Count], const Row& row, int64_t first, const Spread<Width>& spread,
                                           const typename Taps<Width, Side>::OfRow& taps) {
#pragma GCC unroll 24
  for (int i = 0; i < (Count - 1) * Stride + Side; ++i) {
    if (Edge && !row.has(first + i)) continue;
    const Floats x = spread(row.at(first + i));
#pragma GCC unroll 7
    for (int tap = 0; tap < Side; ++tap) {
      if ((i - tap) % Stride == 0 && i - tap >= 0 && (i - tap) / Stride < Count) sums[(i - tap) / Stride] += x * taps.tap[tap];
    }
  }
}

// y = x under the weights, of one image and register of channels; padding[0] rows and padding[1] columns lie around x.
template <class T, int Width, int Side, int Stride, bool Whole>
void correlate(const Activation& from, const T* x, const Activation& to, T* y, const Lanes& lanes, const std::array<int64_t, 2>& padding,
               const Taps<Width, Side>& weights, Floats bias, bool relu) {
  for (int64_t oh = 0; oh < to.height; ++oh) {
    const int64_t top = oh * Stride - padding[0];
    const auto out = Row<T, Whole>::of(to, y, oh, lanes.channels);
    in_pieces<kOutputs>(to.width, [&]<int Count>(int64_t ow) {
      Floats sums[Count];
      for (Floats& sum : sums) sum = bias;
      const int64_t first = ow * Stride - padding[1];
      const bool edge = !Whole || first < 0 || first + (Count - 1) * Stride + Side > from.width;
      if (const auto last = Row<const T, Whole>::of(from, x, top + Side - 1, lanes.channels); last.inside())
        last.template fetch_ahead<Count * Stride>(first);
      out.template fetch_ahead<Count>(ow);
      for (int kh = 0; kh < Side; ++kh) {
        const auto row = Row<const T, Whole>::of(from, x, top + kh, lanes.channels);
        if (!row.inside()) continue;
        for (int channel = 0; channel < Width; ++channel) {
          const Spread<Width> spread(channel);
          if (edge)
            add_row<Stride, true, Width, Side>(sums, row, first, spread, weights.row(kh, channel));
          else if constexpr (Whole)
            add_row<Stride, false, Width, Side>(sums, row, first, spread, weights.row(kh, channel));
        }
      }
      for (int i = 0; i < Count; ++i) out.set(ow + i, relu ? rectified(sums[i]) : sums[i]);
    });
  }
}

// The weights of all registers of channels, ordered anew in each run.
template <int Width, int Side> class OrderedWeights {
 public:
  OrderedWeights(const OperatorSpec& spec, const Activation& view)
      : lanes_(lanes_of(view)), weights_(input<float>(spec, 1)), taps_(spec, lanes_.size()) {}

  // body.operator()<Whole>(image, lanes, taps) over all images and registers of channels, in the order of memory: short planes are too
  // short for the processor to fetch ahead in any other. `order` gives the taps of a register of channels.
  template <class Order, class Body> void for_each_plane(const Activation& view, const Order& order, const Body& body) {
    const auto count = static_cast<int64_t>(lanes_.size());
    for (size_t i = 0; i < lanes_.size(); ++i) taps_[i] = order(weights_, lanes_[i]);
    for_each(view.images * count, view.elements(), [&](int64_t item) {
      const auto i = static_cast<size_t>(item % count);
      if (lanes_[i].whole)
        body.template operator()<true>(item / count, lanes_[i], taps_[i]);
      else
        body.template operator()<false>(item / count, lanes_[i], taps_[i]);
    });
  }

 private:
  const std::vector<Lanes> lanes_;
  const float* weights_;  // (C, K, S, S)
  PlannedItems<Taps<Width, Side>> taps_;
};

template <class T, int Width, int Side, int Stride> class GroupedForward final : public Kernel {
 public:
  explicit GroupedForward(const OperatorSpec& spec)
      : x_view_(activation_of(spec.inputs[0].spec)),
        y_view_(activation_of(spec.outputs[0].spec)),
        at_(spec.attributes, spec.inputs[0].shape(), spec.inputs[1].shape(), spec.outputs[0].shape()),
        relu_(spec.attributes.number("relu", 0) != 0),
        x_(input<T>(spec, 0)),
        b_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)),
        weights_(spec, x_view_) {}

  void run(const StepContext&) override {
    const auto run = [&]<bool Whole>(int64_t image, const Lanes& lanes, const Taps<Width, Side>& taps) {
      const Floats bias = b_ ? load(b_ + lanes.channel, lanes.channels) : Floats{};
      correlate<T, Width, Side, Stride, Whole>(x_view_, x_ + begin_of(x_view_, image, lanes), y_view_, y_ + begin_of(y_view_, image, lanes),
                                               lanes, {at_.rows.padding, at_.columns.padding}, taps, bias, relu_);
    };
    weights_.for_each_plane(y_view_, Taps<Width, Side>::forward, run);
  }

 private:
  const Activation x_view_, y_view_;
  const Geometry at_;
  const bool relu_;
  const T* x_;
  const float* b_;  // (C)
  T* y_;
  OrderedWeights<Width, Side> weights_;
};

template <class T, int Width, int Side, int Stride> class GroupedData final : public Kernel {
 public:
  explicit GroupedData(const OperatorSpec& spec)
      : x_view_(activation_of(spec.outputs[0].spec)),
        y_view_(activation_of(spec.inputs[0].spec)),
        at_(spec.attributes, spec.outputs[0].shape(), spec.inputs[1].shape(), spec.inputs[0].shape()),
        gy_(input<T>(spec, 0)),
        gx_(output<T>(spec, 0)),
        weights_(spec, x_view_) {}

  void run(const StepContext&) override {
    // With stride 1 it is a convolution of gy by the weights turned around.
    constexpr bool dense = Stride == 1;
    const std::array<int64_t, 2> padding{Side - 1 - at_.rows.padding, Side - 1 - at_.columns.padding};
    const auto order = [](const float* weights, const Lanes& lanes) { return Taps<Width, Side>::backward(weights, lanes, dense); };
    const auto run = [&]<bool Whole>(int64_t image, const Lanes& lanes, const Taps<Width, Side>& taps) {
      const T* gy = gy_ + begin_of(y_view_, image, lanes);
      T* gx = gx_ + begin_of(x_view_, image, lanes);
      if constexpr (dense)
        correlate<T, Width, Side, 1, Whole>(y_view_, gy, x_view_, gx, lanes, padding, taps, Floats{}, false);
      else
        spread_out<Whole>(gy, gx, lanes, taps);
    };
    weights_.for_each_plane(x_view_, order, run);
  }

 private:
  // With stride 2: of the columns v + padding, the even ones meet outputs by the even taps, and the odd ones by the odd taps.
  template <bool Whole> void spread_out(const T* gy, T* gx, const Lanes& lanes, const Taps<Width, Side>& weights) const {
    const int64_t padding = at_.columns.padding, first_pair = padding / 2, pairs = (x_view_.width - 1 + padding) / 2 + 1 - first_pair;
    for (int64_t h = 0; h < x_view_.height; ++h) {
      const int64_t u = h + at_.rows.padding;
      const auto to = Row<T, Whole>::of(x_view_, gx, h, lanes.channels);
      in_pieces<kOutputs>(pairs, [&]<int Count>(int64_t piece) {
        const int64_t pair = first_pair + piece;
        Floats columns[2][Count] = {};  // the even ones, and the odd ones
        for (int64_t kh = u % 2; kh < Side && kh <= u; kh += 2) {
          const auto from = Row<const T, Whole>::of(y_view_, gy, (u - kh) / 2, lanes.channels);
          if (!from.inside()) continue;
          for (int filter = 0; filter < Width; ++filter) {
            const auto taps = weights.row(kh, filter);
            const Spread<Width> spread(filter);
#pragma GCC unroll 11
            for (int i = -(Side / 2); i < Count; ++i) {
              if (!from.has(pair + i)) continue;
              const Floats g = spread(from.at(pair + i));
#pragma GCC unroll 7
              for (int tap = 0; tap < Side; ++tap) {
                const int at = i + tap / 2;
                if (at >= 0 && at < Count) columns[tap % 2][at] += g * taps.tap[tap];
              }
            }
          }
        }
#pragma GCC unroll 8
        for (int i = 0; i < Count; ++i) {
          const int64_t v = 2 * (pair + i) - padding;
          if (to.has(v)) to.set(v, columns[0][i]);
          if (to.has(v + 1)) to.set(v + 1, columns[1][i]);
        }
      });
    }
  }

  const Activation x_view_, y_view_;
  const Geometry at_;
  const T* gy_;
  T* gx_;
  OrderedWeights<Width, Side> weights_;
};

size_t scratch_of(const TensorSpec& x, const Shape& w) {
  return lanes_of(activation_of(x)).size() * static_cast<size_t>(w[1] * w[2] * w[3]) * sizeof(Floats);
}

size_t scratch_forward(const Shapes& shapes, const LoweringAnswer& answer) { return scratch_of(answer.inputs[0], shapes.input(1)); }

size_t scratch_data(const Shapes& shapes, const LoweringAnswer& answer) { return scratch_of(answer.outputs[0], shapes.input(1)); }

void check_forward(const Shapes& shapes) {
  const Shape y = result_of(shapes.attributes(), shapes.input(0), shapes.input(1));
  shapes.input_is(2, {y[1]});
  shapes.output_is(0, y);
}

void check_data(const Shapes& shapes) { shapes.input_is(0, result_of(shapes.attributes(), shapes.output(0), shapes.input(1))); }

bool takes_forward(const LoweringRequest& request, const std::string& layout) {
  return takes(Pass::forward, request, shape_at(request.inputs, 0), shape_at(request.inputs, 1), layout);
}

bool takes_data(const LoweringRequest& request, const std::string& layout) {
  return takes(Pass::data, request, shape_at(request.outputs, 0), shape_at(request.inputs, 1), layout);
}

template <Pass pass, template <class, int, int, int> class Made> std::unique_ptr<Kernel> made(const OperatorSpec& spec) {
  return make<pass, Made>(spec, spec.inputs[1].shape());
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2d",
       .inputs = {{"x", activation}, {"w", parameter}, {"b", parameter, true}},
       .outputs = {{"y", activation}},
       .check = check_forward,
       .make = made<Pass::forward, GroupedForward>,
       .scratch = scratch_forward,
       .takes = takes_forward},
      {.kind = "conv2dBackwardData",
       .inputs = {{"gy", activation}, {"w", parameter}},
       .outputs = {{"gx", activation}},
       .check = check_data,
       .make = made<Pass::data, GroupedData>,
       .scratch = scratch_data,
       .takes = takes_data},
  };
}

const Registered kRegistered{operators()};

}  // namespace

namespace narrow_groups {

bool takes(Pass pass, const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  const Attributes& attributes = request.attributes;
  if (x.size() != 4 || w.size() != 4 || x[1] < 2) return false;
  const int64_t width = w[1], side = w[2];
  if (w != Shape{x[1], width, side, side} || attributes.number("groups", 1) * static_cast<double>(width) != static_cast<double>(x[1]))
    return false;
  const std::vector<double>&strides = attributes.list("stride"), &padding = attributes.list("padding");
  if (strides.size() != 2 || strides[0] != strides[1] || padding.size() != 2) return false;
  if (!is_ours(pass, request.precision == Type::bf16, width, side, static_cast<int64_t>(strides[0]))) return false;
  for (size_t i = 0; i < 2; ++i) {
    const auto around = static_cast<int64_t>(padding[i]);
    if (static_cast<double>(around) != padding[i] || around < 0 || around >= side || x[2 + i] + 2 * around < side) return false;
  }
  return activation_of({Type::f32, x, layout}).lanes >= kLanes;
}

Shape result_of(const Attributes& attributes, const Shape& x, const Shape& w) {
  const auto extent = [&](size_t i) {
    return (x[2 + i] + 2 * static_cast<int64_t>(attributes.list("padding")[i]) - w[2 + i]) /
               static_cast<int64_t>(attributes.list("stride")[i]) +
           1;
  };
  return {x[0], x[1], extent(0), extent(1)};
}

}  // namespace narrow_groups
}  // namespace arbalest::kernels
