// Convolutions whose groups have one, four or eight channels and as many filters (one: depthwise convolutions), where channels lie side by
// side and fill registers: a register of channels, of whole groups, is computed at once. Each lane meets the channels of its group one
// after the other, by a register in which that channel is spread over the group's lanes. Several outputs of a row stay in registers while
// the rows of x pass by, so that each pixel is loaded once for all taps of its row and arithmetic is the limit.
#pragma once

#include <algorithm>
#include <vector>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/window.h"

namespace arbalest::kernels::narrow_groups {

// body.operator()<Width, Side, Stride>() for the channels of a group, the sides of filters and the strides that there are kernels for.
template <class Body> auto for_window(int64_t width, int64_t side, int64_t stride, const Body& body) {
  const auto strided = [&]<int Width, int Side>() {
    return stride == 1 ? body.template operator()<Width, Side, 1>() : body.template operator()<Width, Side, 2>();
  };
  if constexpr (kLanes >= 8) {
    if (width == 4) return strided.template operator()<4, 3>();
    if (width == 8) return strided.template operator()<8, 3>();
  }
  return side == 3   ? strided.template operator()<1, 3>()
         : side == 5 ? strided.template operator()<1, 5>()
                     : strided.template operator()<1, 7>();
}

// Gives each lane the value of one channel of its group.
template <int Width> class Spread {
 public:
  explicit Spread(int channel = 0) : from_((lane_numbers() & ~(Width - 1)) + channel) {}
  Floats operator()(Floats x) const {
    if constexpr (Width == 1) return x;
    return __builtin_shuffle(x, from_);
  }

 private:
  Ints from_;
};

// One register of channels: its first lane and the first one's channel. `channels` are those that are not padding. The last register of
// nhwc may have fewer lanes in memory than others.
struct Lanes {
  int64_t block, lane, channel;
  int channels;
  bool whole;
};

inline std::vector<Lanes> lanes_of(const Activation& view) {
  std::vector<Lanes> all;
  for (int64_t block = 0; block < view.blocks; ++block) {
    for (int64_t lane = 0; lane < view.lanes; lane += kLanes) {
      const int64_t channel = block * view.lanes + lane;
      all.push_back(
          {block, lane, channel, static_cast<int>(std::clamp<int64_t>(view.channels - channel, 0, kLanes)), lane + kLanes <= view.lanes});
    }
  }
  return all;
}

// Elements before the first pixel of an image in these lanes.
inline int64_t begin_of(const Activation& view, int64_t image, const Lanes& lanes) { return view.offset(image, lanes.block) + lanes.lane; }

// A row of an image in one register of channels, which has all its lanes in memory or the first `lanes`: pixels lie `step` elements apart.
// Without data it lies outside of the image.
template <class T, bool Whole> struct Row {
  T* data;
  int64_t step, width;
  int lanes;

  // `image` is the first pixel of an image of this view.
  static Row of(const Activation& view, T* image, int64_t row, int lanes) {
    return {row >= 0 && row < view.height ? image + row * view.width * view.lanes : nullptr, view.lanes, view.width, lanes};
  }
  bool inside() const { return data != nullptr; }
  bool has(int64_t column) const { return column >= 0 && column < width; }
  Floats at(int64_t column) const { return in_register(load<!Whole>(data + column * step, lanes)); }
  void set(int64_t column, Floats value) const { store<!Whole>(data + column * step, value, lanes); }
};

struct Geometry {
  Axis rows, columns;

  Geometry(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y)
      : rows(axis(attributes, 0, x, w, y)), columns(axis(attributes, 1, x, w, y)) {}

  int64_t side() const { return rows.kernel; }
  int64_t stride() const { return rows.stride; }

 private:
  static Axis axis(const Attributes& attributes, size_t i, const Shape& x, const Shape& w, const Shape& y) {
    const auto number = [&](const char* name) { return static_cast<int64_t>(attributes.list(name)[i]); };
    return {w[2 + i], number("stride"), number("padding"), x[2 + i], y[2 + i]};
  }
};

// Whether there are kernels for a convolution of x (N, C, H, W) by w in this layout: w is (C, K, S, S) in groups of K channels, with a K of
// 1 and a side S of 3, 5 or 7, or a side of 3 and a K of 4 or, in f32, 8: in bf16 oneDNN is faster there. Both strides are 1 or both are 2,
// padding is below the side, and there are as many lanes as in a register.
bool takes_shapes(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout);

// The same for its gradients, but for those that oneDNN computes faster: of depthwise 3x3 with strides, in bf16.
bool takes_gradient(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout);

// The shape of y, for attributes, an x and a w that are taken.
Shape result_of(const Attributes& attributes, const Shape& x, const Shape& w);

}  // namespace arbalest::kernels::narrow_groups
