// What the kernels for the gradient of the weights of a convolution of 3x3 in bfloat16 have in common.
#pragma once

#include "cpu/kernels/convolution_3x3.h"

namespace arbalest::kernels::convolution_3x3 {

// How far it is in an activation from one image, row, pixel and block of channels to the next.
struct Steps {
  int64_t image, row, pixel, block;

  Steps(const Blocked& shape, const std::string& layout) : image(shape.image()) {
    const bool blocked = layout == kActivations;
    row = blocked ? shape.row() : shape.blocks * shape.row();
    pixel = blocked ? kLanes : shape.blocks * kLanes;
    block = blocked ? shape.plane() : kLanes;
  }
};

// Whether it is such a gradient.
inline bool has_bfloat16_weights(const LoweringRequest& request) {
  return request.precision == Type::bf16 && has_shapes(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0));
}

// The gradient gb (O) of a block of biases: a row of outputs at a time, since a long sum in float is inexact.
inline void sum_biases(const Blocked& y, const Steps& steps, const bf16* gy, int64_t block, float* gb) {
  double totals[kLanes] = {};
  for (int64_t image = 0; image < y.images; ++image) {
    for (int64_t row = 0; row < y.height; ++row) {
      const bf16* pixel = gy + image * steps.image + row * steps.row + block * steps.block;
      Floats sum{};
      for (int64_t column = 0; column < y.width; ++column, pixel += steps.pixel) sum += load(pixel);
      for (int lane = 0; lane < kLanes; ++lane) totals[lane] += static_cast<double>(sum[lane]);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) gb[block * kLanes + lane] = static_cast<float>(totals[lane]);
}

}  // namespace arbalest::kernels::convolution_3x3
