// conv2d with one filter of 3x3 a channel, and the gradient of its input.
#include "cpu/kernels/depthwise.h"

#include <array>

namespace arbalest::kernels {
namespace {

using namespace depthwise;

// Outputs of a row that are computed at once.
constexpr int kOutputs = 8;

// sums[i] += the row under three taps, from column `first` on. At an edge, columns outside of the image are passed over.
template <int Stride, int Count, bool Edge>
[[gnu::always_inline]] inline void add_row(Floats (&sums)[Count], const Row<const float>& row, int64_t first, const Floats* row_taps) {
  const Floats taps[kSide] = {in_register(row_taps[0]), in_register(row_taps[1]), in_register(row_taps[2])};
#pragma GCC unroll 24
  for (int i = 0; i < (Count - 1) * Stride + kSide; ++i) {
    if (Edge && !row.has(first + i)) continue;
    const Floats x = row.at(first + i);
#pragma GCC unroll 3
    for (int tap = 0; tap < kSide; ++tap) {
      if ((i - tap) % Stride == 0 && i - tap >= 0 && (i - tap) / Stride < Count) sums[(i - tap) / Stride] += x * taps[tap];
    }
  }
}

// y = x under the weights, of one image and register of channels; padding[0] rows and padding[1] columns lie around x.
template <int Stride>
void correlate(const Activation& from, const float* x, const Activation& to, float* y, const std::array<int64_t, 2>& padding,
               const Taps& weights, Floats bias, bool relu) {
  for (int64_t oh = 0; oh < to.height; ++oh) {
    const int64_t top = oh * Stride - padding[0];
    const Row<float> out = Row<float>::of(to, y, oh);
    in_pieces<kOutputs>(to.width, [&]<int Count>(int64_t ow) {
      Floats sums[Count];
      for (Floats& sum : sums) sum = bias;
      const int64_t first = ow * Stride - padding[1];
      const bool edge = first < 0 || first + (Count - 1) * Stride + kSide > from.width;
      for (int kh = 0; kh < kSide; ++kh) {
        const auto row = Row<const float>::of(from, x, top + kh);
        if (!row.inside()) continue;
        if (edge)
          add_row<Stride, Count, true>(sums, row, first, weights.tap + kh * kSide);
        else
          add_row<Stride, Count, false>(sums, row, first, weights.tap + kh * kSide);
      }
      for (int i = 0; i < Count; ++i) out.set(ow + i, relu ? rectified(sums[i]) : sums[i]);
    });
  }
}

// The weights of all registers of channels, ordered anew in each run.
class OrderedWeights {
 public:
  OrderedWeights(const OperatorSpec& spec, const Activation& view)
      : lanes_(lanes_of(view)), weights_(input<float>(spec, 1)), taps_(spec, lanes_.size()) {}

  // body(image, lanes, taps) over all images and registers of channels, in the order of memory: short planes are too short for the
  // processor to fetch ahead in any other.
  template <class Body> void for_each_plane(const Activation& view, bool turned, const Body& body) {
    const auto count = static_cast<int64_t>(lanes_.size());
    for (size_t i = 0; i < lanes_.size(); ++i) taps_[i] = taps_of(weights_, lanes_[i], turned);
    for_each(view.images * count, view.elements(), [&](int64_t item) {
      const auto i = static_cast<size_t>(item % count);
      body(item / count, lanes_[i], taps_[i]);
    });
  }

 private:
  const std::vector<Lanes> lanes_;
  const float* weights_;  // (C, 1, 3, 3)
  PlannedItems<Taps> taps_;
};

class Depthwise final : public Kernel {
 public:
  explicit Depthwise(const OperatorSpec& spec)
      : x_view_(activation_of(spec.inputs[0].spec)),
        y_view_(activation_of(spec.outputs[0].spec)),
        at_(spec.attributes, spec.inputs[0].shape(), spec.outputs[0].shape()),
        relu_(spec.attributes.number("relu", 0) != 0),
        x_(input<float>(spec, 0)),
        b_(input<float>(spec, 2)),
        y_(output<float>(spec, 0)),
        weights_(spec, x_view_) {}

  void run(const StepContext&) override {
    const auto correlated = at_.stride() == 1 ? correlate<1> : correlate<2>;
    weights_.for_each_plane(y_view_, false, [&](int64_t image, const Lanes& lanes, const Taps& taps) {
      const Floats bias = b_ ? load(b_ + lanes.channel, lanes.channels) : Floats{};
      correlated(x_view_, x_ + begin_of(x_view_, image, lanes), y_view_, y_ + begin_of(y_view_, image, lanes),
                 {at_.rows.padding, at_.columns.padding}, taps, bias, relu_);
    });
  }

 private:
  const Activation x_view_, y_view_;
  const Geometry at_;
  const bool relu_;
  const float* x_;
  const float* b_;  // (C)
  float* y_;
  OrderedWeights weights_;
};

class DepthwiseData final : public Kernel {
 public:
  explicit DepthwiseData(const OperatorSpec& spec)
      : x_view_(activation_of(spec.outputs[0].spec)),
        y_view_(activation_of(spec.inputs[0].spec)),
        at_(spec.attributes, spec.outputs[0].shape(), spec.inputs[0].shape()),
        gy_(input<float>(spec, 0)),
        gx_(output<float>(spec, 0)),
        weights_(spec, x_view_) {}

  void run(const StepContext&) override {
    // With stride 1 it is a convolution of gy by the weights turned around.
    const bool dense = at_.stride() == 1;
    const std::array<int64_t, 2> padding{kSide - 1 - at_.rows.padding, kSide - 1 - at_.columns.padding};
    weights_.for_each_plane(x_view_, dense, [&](int64_t image, const Lanes& lanes, const Taps& taps) {
      const float* gy = gy_ + begin_of(y_view_, image, lanes);
      float* gx = gx_ + begin_of(x_view_, image, lanes);
      dense ? correlate<1>(y_view_, gy, x_view_, gx, padding, taps, Floats{}, false) : spread_out(gy, gx, taps);
    });
  }

 private:
  // With stride 2: of the columns v + padding, the even ones meet outputs by taps 0 and 2, and each odd one meets one output by tap 1.
  void spread_out(const float* gy, float* gx, const Taps& weights) const {
    const int64_t padding = at_.columns.padding, first_pair = padding / 2, pairs = (x_view_.width - 1 + padding) / 2 + 1 - first_pair;
    for (int64_t h = 0; h < x_view_.height; ++h) {
      const int64_t u = h + at_.rows.padding;
      const Row<float> to = Row<float>::of(x_view_, gx, h);
      in_pieces<kOutputs>(pairs, [&]<int Count>(int64_t piece) {
        const int64_t pair = first_pair + piece;
        Floats even[Count] = {}, odd[Count] = {};
        for (int kh = static_cast<int>(u % 2); kh < kSide && kh <= u; kh += 2) {
          const auto from = Row<const float>::of(y_view_, gy, (u - kh) / 2);
          if (!from.inside()) continue;
          const Floats* row_taps = weights.tap + kh * kSide;
          const Floats taps[kSide] = {in_register(row_taps[0]), in_register(row_taps[1]), in_register(row_taps[2])};
#pragma GCC unroll 9
          for (int i = -1; i < Count; ++i) {
            if (!from.has(pair + i)) continue;
            const Floats g = from.at(pair + i);
            if (i >= 0) even[i] += g * taps[0], odd[i] += g * taps[1];
            if (i + 1 < Count) even[i + 1] += g * taps[2];
          }
        }
#pragma GCC unroll 8
        for (int i = 0; i < Count; ++i) {
          const int64_t v = 2 * (pair + i) - padding;
          if (to.has(v)) to.set(v, even[i]);
          if (to.has(v + 1)) to.set(v + 1, odd[i]);
        }
      });
    }
  }

  const Activation x_view_, y_view_;
  const Geometry at_;
  const float* gy_;
  float* gx_;
  OrderedWeights weights_;
};

size_t scratch_forward(const Shapes&, const LoweringAnswer& answer) {
  return lanes_of(activation_of(answer.inputs[0])).size() * sizeof(Taps);
}

size_t scratch_data(const Shapes&, const LoweringAnswer& answer) {
  return lanes_of(activation_of(answer.outputs[0])).size() * sizeof(Taps);
}

void check_forward(const Shapes& shapes) {
  const Shape y = result_of(shapes.attributes(), shapes.input(0));
  shapes.input_is(2, {y[1]});
  shapes.output_is(0, y);
}

void check_data(const Shapes& shapes) { shapes.input_is(0, result_of(shapes.attributes(), shapes.output(0))); }

bool takes_forward(const LoweringRequest& request, const std::string& layout) {
  return takes_shapes(request, shape_at(request.inputs, 0), shape_at(request.inputs, 1), layout);
}

bool takes_data(const LoweringRequest& request, const std::string& layout) {
  return takes_shapes(request, shape_at(request.outputs, 0), shape_at(request.inputs, 1), layout);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2d",
       .inputs = {{"x", activation}, {"w", parameter}, {"b", parameter, true}},
       .outputs = {{"y", activation}},
       .check = check_forward,
       .make = make_only<Depthwise>,
       .scratch = scratch_forward,
       .takes = takes_forward},
      {.kind = "conv2dBackwardData",
       .inputs = {{"gy", activation}, {"w", parameter}},
       .outputs = {{"gx", activation}},
       .check = check_data,
       .make = make_only<DepthwiseData>,
       .scratch = scratch_data,
       .takes = takes_data},
  };
}

const Registered kRegistered{operators()};

}  // namespace

namespace depthwise {

bool takes_shapes(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  const Attributes& attributes = request.attributes;
  if (request.precision != Type::f32) return false;
  if (x.size() != 4 || x[1] < 2 || w != Shape{x[1], 1, kSide, kSide} || attributes.number("groups", 1) != static_cast<double>(x[1]))
    return false;
  const std::vector<double>&strides = attributes.list("stride"), &padding = attributes.list("padding");
  if (strides.size() != 2 || strides[0] != strides[1] || (strides[0] != 1 && strides[0] != 2) || padding.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    if ((padding[i] != 0 && padding[i] != 1 && padding[i] != 2) || static_cast<double>(x[2 + i]) + 2 * padding[i] < kSide) return false;
  }
  const int64_t lanes = activation_of({Type::f32, x, layout}).lanes;
  return lanes % kLanes == 0;
}

Shape result_of(const Attributes& attributes, const Shape& x) {
  const auto extent = [&](size_t i) {
    return (x[2 + i] + 2 * static_cast<int64_t>(attributes.list("padding")[i]) - kSide) /
               static_cast<int64_t>(attributes.list("stride")[i]) +
           1;
  };
  return {x[0], x[1], extent(0), extent(1)};
}

}  // namespace depthwise
}  // namespace arbalest::kernels
