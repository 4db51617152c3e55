// The kernels' images: (N, C, H, W) with nhwc memory and 32-bit extents; lowering refuses tensors of 2^31 elements.
#pragma once

#include <cstdint>

#include "core/everywhere.h"
#include "core/tensor.h"

namespace arbalest::cuda {

// Rows, columns and channels last: what "plain" calls (N, C, H, W) lies as (N, H, W, C).
inline constexpr std::string_view kNhwc = "nhwc";

struct Image {
  int n = 1, h = 1, w = 1, c = 1;

  explicit Image(const Shape& shape) {
    n = static_cast<int>(shape[0]);
    c = static_cast<int>(shape[1]);
    h = shape.size() > 2 ? static_cast<int>(shape[2]) : 1;
    w = shape.size() > 3 ? static_cast<int>(shape[3]) : 1;
  }

  EVERYWHERE int rows() const { return n * h * w; }
  EVERYWHERE int elements() const { return rows() * c; }
  EVERYWHERE int64_t at(int in, int ih, int iw, int ic) const { return ((static_cast<int64_t>(in) * h + ih) * w + iw) * c + ic; }
};

// Element i of an nhwc image, or pack i of one whose channels are counted in packs.
struct Pixel {
  int n, h, w, c;

  EVERYWHERE Pixel(int64_t i, const Image& image, int channels) {
    int rest = static_cast<int>(i);
    c = rest % channels;
    rest /= channels;
    w = rest % image.w;
    rest /= image.w;
    h = rest % image.h;
    n = rest / image.h;
  }
};

// A sliding window, as convolutions and poolings have it.
struct Window {
  int kernel[2], stride[2], padding[2], dilation[2];

  // The input of tap k of output o; outside of [0, input) it is padding.
  EVERYWHERE int input_of(int axis, int o, int k) const { return o * stride[axis] + k * dilation[axis] - padding[axis]; }
  // The output whose tap k has the input i, or -1.
  EVERYWHERE int output_of(int axis, int i, int k, int outputs) const {
    const int start = i + padding[axis] - k * dilation[axis];
    if (start < 0 || start % stride[axis] != 0 || start / stride[axis] >= outputs) return -1;
    return start / stride[axis];
  }
};

}  // namespace arbalest::cuda
