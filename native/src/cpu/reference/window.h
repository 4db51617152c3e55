// A window that slides over an image, for convolutions and poolings.
#pragma once

#include "cpu/reference/operator.h"

namespace arbalest::reference {

struct Window {
  std::array<int64_t, 2> kernel, stride, padding, dilation;

  Window(std::array<int64_t, 2> kernel, const Attributes& attributes)
      : kernel(kernel),
        stride(pair(attributes.list("stride"))),
        padding(pair(attributes.list("padding"))),
        dilation(pair(attributes.list("dilation", {1, 1}))) {}
  explicit Window(const Attributes& attributes) : Window(pair(attributes.list("kernel")), attributes) {}

  // Rows or columns of the output for those of the input; below 1 if the window does not fit.
  int64_t extent(size_t axis, int64_t input) const {
    const int64_t room = input + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
  // The input of tap `k` of output `o`; outside of [0, input) it is padding.
  int64_t input_of(size_t axis, int64_t o, int64_t k) const { return o * stride[axis] + k * dilation[axis] - padding[axis]; }
  // The output whose tap `k` has the input `i`, or -1.
  int64_t output_of(size_t axis, int64_t i, int64_t k, int64_t outputs) const {
    const int64_t start = i + padding[axis] - k * dilation[axis];
    if (start < 0 || start % stride[axis] != 0 || start / stride[axis] >= outputs) return -1;
    return start / stride[axis];
  }

 private:
  static std::array<int64_t, 2> pair(const std::vector<double>& values) {
    return {static_cast<int64_t>(values[0]), static_cast<int64_t>(values[1])};
  }
};

}  // namespace arbalest::reference
