// Convolutions with one filter of 3x3 a channel, where channels lie side by side and fill registers: a register of channels is computed at
// once. Several outputs of a row stay in registers while the rows of x pass by, so that each pixel is loaded once for all taps of its row
// and arithmetic is the limit.
#pragma once

#include <algorithm>
#include <vector>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/window.h"

namespace arbalest::kernels::depthwise {

inline constexpr int kSide = 3, kTaps = kSide * kSide;

// One register of channels: its first lane and the first one's channel. `channels` are those that are not padding.
struct Lanes {
  int64_t block, lane, channel;
  int channels;
};

inline std::vector<Lanes> lanes_of(const Activation& view) {
  std::vector<Lanes> all;
  for (int64_t block = 0; block < view.blocks; ++block) {
    for (int64_t lane = 0; lane < view.lanes; lane += kLanes) {
      const int64_t channel = block * view.lanes + lane;
      all.push_back({block, lane, channel, static_cast<int>(std::clamp<int64_t>(view.channels - channel, 0, kLanes))});
    }
  }
  return all;
}

// Elements before the first pixel of an image in these lanes.
inline int64_t begin_of(const Activation& view, int64_t image, const Lanes& lanes) { return view.offset(image, lanes.block) + lanes.lane; }

// The weights of a register of channels, tap by tap.
struct Taps {
  Floats tap[kTaps];
};

// Orders weights (C, 1, 3, 3), from the last tap to the first if they are `turned`.
inline Taps taps_of(const float* weights, const Lanes& lanes, bool turned) {
  float taps[kTaps][kLanes] = {};
  for (int c = 0; c < lanes.channels; ++c) {
    for (int t = 0; t < kTaps; ++t) taps[t][c] = weights[(lanes.channel + c) * kTaps + t];
  }
  Taps ordered;
  for (int t = 0; t < kTaps; ++t) ordered.tap[t] = load(taps[turned ? kTaps - 1 - t : t]);
  return ordered;
}

// A row of an image in one register of channels: pixels lie `step` elements apart. Without data it lies outside of the image.
template <class T> struct Row {
  T* data;
  int64_t step, width;

  // `image` is the first pixel of an image of this view.
  static Row of(const Activation& view, T* image, int64_t row) {
    return {row >= 0 && row < view.height ? image + row * view.width * view.lanes : nullptr, view.lanes, view.width};
  }
  bool inside() const { return data != nullptr; }
  bool has(int64_t column) const { return column >= 0 && column < width; }
  Floats at(int64_t column) const { return in_register(load(data + column * step)); }
  void set(int64_t column, Floats value) const { store(data + column * step, value); }
};

struct Geometry {
  Axis rows, columns;

  Geometry(const Attributes& attributes, const Shape& x, const Shape& y)
      : rows(axis(attributes, 0, x, y)), columns(axis(attributes, 1, x, y)) {}

  int64_t stride() const { return rows.stride; }

 private:
  static Axis axis(const Attributes& attributes, size_t i, const Shape& x, const Shape& y) {
    const auto number = [&](const char* name) { return static_cast<int64_t>(attributes.list(name)[i]); };
    return {kSide, number("stride"), number("padding"), x[2 + i], y[2 + i]};
  }
};

// Whether these kernels run a convolution of x (N, C, H, W) by w in this layout: w is (C, 1, 3, 3), both strides are 1 or both are 2,
// padding is below 3, and channels fill registers; in f32 alone, for in bf16 oneDNN is faster.
bool takes_shapes(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout);

// The shape of y, for attributes and an x that are taken.
Shape result_of(const Attributes& attributes, const Shape& x);

}  // namespace arbalest::kernels::depthwise
