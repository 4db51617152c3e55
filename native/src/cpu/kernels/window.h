// A window that slides over an image and is clipped at its edges, for the pooling operators.
#pragma once

#include <algorithm>

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

struct Range {
  int64_t begin, end;
};

// One axis: output o covers inputs o * stride - padding to o * stride - padding + kernel - 1.
struct Axis {
  int64_t kernel, stride, padding, inputs, outputs;
  std::vector<Range> taps;      // by output: its taps that lie inside of the image
  std::vector<Range> covering;  // by input: the outputs whose window covers it
  Range whole{0, 0};            // the outputs whose window lies inside of the image

  Axis(int64_t kernel, int64_t stride, int64_t padding, int64_t inputs, int64_t outputs)
      : kernel(kernel), stride(stride), padding(padding), inputs(inputs), outputs(outputs) {
    for (int64_t output = 0; output < outputs; ++output) {
      taps.push_back({std::max<int64_t>(0, -first(output)), std::min(kernel, inputs - first(output))});
      if (taps.back().end - taps.back().begin < kernel) continue;
      if (whole.end == 0) whole.begin = output;
      whole.end = output + 1;
    }
    for (int64_t input = 0; input < inputs; ++input) {
      const int64_t from = input + padding - kernel + 1;
      covering.push_back({from <= 0 ? 0 : (from + stride - 1) / stride, std::min(outputs, (input + padding) / stride + 1)});
    }
  }

  int64_t first(int64_t output) const { return output * stride - padding; }
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
