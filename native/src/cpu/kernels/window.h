// A window sliding over an image, clipped at its edges: what the pooling operators share.
#pragma once

#include <algorithm>

#include "operator.h"

namespace arbalest::kernels {

struct Range {
  int64_t begin, end;
};

// One axis: output o covers inputs o * stride - padding to o * stride - padding + kernel - 1.
struct Axis {
  int64_t kernel, stride, padding, inputs, outputs;

  int64_t first(int64_t output) const { return output * stride - padding; }
  // The taps of an output that lie inside of the image.
  Range taps(int64_t output) const { return {std::max<int64_t>(0, -first(output)), std::min(kernel, inputs - first(output))}; }
  // The outputs whose window covers an input.
  Range covering(int64_t input) const {
    const int64_t from = input + padding - kernel + 1;
    return {from <= 0 ? 0 : (from + stride - 1) / stride, std::min(outputs, (input + padding) / stride + 1)};
  }
};

struct Window {
  Axis rows, columns;

  // `image` and `result` are (N, C, H, W).
  Window(const Attributes& attributes, const Shape& image, const Shape& result)
      : rows(axis(attributes, 0, image, result)), columns(axis(attributes, 1, image, result)) {}

  int64_t area() const { return rows.kernel * columns.kernel; }

 private:
  static Axis axis(const Attributes& attributes, size_t i, const Shape& image, const Shape& result) {
    const auto number = [&](const char* name) { return static_cast<int64_t>(attributes.list(name)[i]); };
    return {number("kernel"), number("stride"), number("padding"), image[2 + i], result[2 + i]};
  }
};

// The shape that pooling gives an image (N, C, H, W).
Shape pooled(const Shapes& shapes, const Shape& image);

}  // namespace arbalest::kernels
