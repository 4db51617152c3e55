// y = (x - mean) * scale + beta (+ residual), (in [0, most]), over an activation whose rows have these numbers by channel.
#pragma once

#include <limits>

#include "cpu/kernels/channels.h"
#include "cpu/kernels/fetch_ahead.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// What y is at most, with relu.
inline float most_of(const Attributes& attributes) {
  return static_cast<float>(attributes.number("most", std::numeric_limits<double>::infinity()));
}

// The numbers of a group's channels, spread over a row. All are zero in padding lanes, and so is y.
struct NormaliseRow {
  float mean[kMostWidth], scale[kMostWidth], beta[kMostWidth];

  NormaliseRow() = default;
  // Each is given from the group's first channel on.
  NormaliseRow(const ChannelGroup& group, const float* means, const float* scales, const float* betas) {
    spread(group, mean, means);
    spread(group, scale, scales);
    spread(group, beta, betas);
  }
};

template <class T, int Vectors, bool Partial, bool Residual, bool Relu>
void normalise_rows(const T* x, const T* residual, T* y, int64_t rows, int64_t stride, int width, float most, const NormaliseRow& by) {
  Floats mean[Vectors], scale[Vectors], beta[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    mean[v] = load(by.mean + v * kLanes);
    scale[v] = load(by.scale + v * kLanes);
    beta[v] = load(by.beta + v * kLanes);
  }
#pragma GCC unroll 4
  for (int64_t row = 0; row < rows; ++row) {
    if (row % kRowsOfLine<T, Vectors> == 0) fetch_ahead<true>(y + row * stride);
    for (int v = 0; v < Vectors; ++v) {
      const int64_t at = row * stride + v * kLanes;
      Floats value = (load<Partial>(x + at, width) - mean[v]) * scale[v] + beta[v];
      if constexpr (Residual) value += load<Partial>(residual + at, width);
      if constexpr (Relu) value = rectified(value, most);
      store<Partial>(y + at, value, width);
    }
  }
}

template <class T> class Normaliser {
 public:
  Normaliser(const ChannelGroups& layout, const T* x, const T* residual, T* y, const Attributes& attributes)
      : layout_(layout), x_(x), residual_(residual), y_(y), relu_(attributes.number("relu", 0) != 0), most_(most_of(attributes)) {}

  void apply(const ChannelGroup& group, int64_t image, const NormaliseRow& by) const {
    if (residual_)
      relu_ ? run<true, true>(group, image, by) : run<true, false>(group, image, by);
    else
      relu_ ? run<false, true>(group, image, by) : run<false, false>(group, image, by);
  }

 private:
  template <bool Residual, bool Relu> void run(const ChannelGroup& group, int64_t image, const NormaliseRow& by) const {
    const int64_t begin = layout_.at(group, image), end = begin + layout_.rows * layout_.row_stride;
    const auto residual = [&](int64_t at) { return Residual ? residual_ + at : nullptr; };
    for_registers(group, [&]<int Vectors, bool Partial>() {
      normalise_rows<T, Vectors, Partial, Residual, Relu>(x_ + begin, residual(begin), y_ + begin, layout_.rows, layout_.row_stride,
                                                          group.width, most_, by);
    });
    if (layout_.tail) normalise_rows<T, 1, true, Residual, Relu>(x_ + end, residual(end), y_ + end, 1, 0, layout_.tail, most_, by);
  }

  const ChannelGroups& layout_;
  const T *x_, *residual_;
  T* y_;
  bool relu_;
  float most_;
};

}  // namespace arbalest::kernels
