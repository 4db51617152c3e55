#include "cpu/kernels/blocked_convolution.h"

#include <algorithm>

#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {

// A row of outputs at a time, since a long sum in float is inexact.
template <class T> void sum_biases(const Blocked& y, const Steps& steps, const T* gy, float* gb) {
  for_each(y.blocks, y.images * y.image(), [&](int64_t block) {
    double totals[kLanes] = {};
    for (int64_t image = 0; image < y.images; ++image) {
      for (int64_t row = 0; row < y.height; ++row) {
        const T* pixel = gy + image * steps.image + row * steps.row + block * steps.block;
        Floats sum{};
        for (int64_t column = 0; column < y.width; ++column, pixel += steps.pixel) sum += load(pixel);
        for (int lane = 0; lane < kLanes; ++lane) totals[lane] += static_cast<double>(sum[lane]);
      }
    }
    const int64_t lanes = std::min<int64_t>(kLanes, y.channels - block * kLanes);
    for (int64_t lane = 0; lane < lanes; ++lane) gb[block * kLanes + lane] = static_cast<float>(totals[lane]);
  });
}

template void sum_biases(const Blocked&, const Steps&, const float*, float*);
template void sum_biases(const Blocked&, const Steps&, const bf16*, float*);

}  // namespace arbalest::kernels
