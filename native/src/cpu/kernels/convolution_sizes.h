// The extents of a convolution of x (N, C, H, W) by w (O, C, KH, KW) to y (N, O, OH, OW).
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace arbalest::kernels {

struct ConvolutionSizes {
  int64_t images, channels, height, width;  // x
  int64_t filters, out_height, out_width;   // y
  int64_t kernel_height, kernel_width;

  ConvolutionSizes(const Shape& x, const Shape& w, const Shape& y)
      : images(x[0]),
        channels(x[1]),
        height(x[2]),
        width(x[3]),
        filters(w[0]),
        out_height(y[2]),
        out_width(y[3]),
        kernel_height(w[2]),
        kernel_width(w[3]) {}

  int64_t plane() const { return height * width; }
  int64_t out_plane() const { return out_height * out_width; }
  int64_t taps() const { return kernel_height * kernel_width; }
  // Values of x under a filter.
  int64_t depth() const { return channels * taps(); }
  // Of the whole operator: what it is worth to wake threads for.
  int64_t work() const { return images * out_plane() * depth(); }
};

}  // namespace arbalest::kernels
