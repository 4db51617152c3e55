// Mean and variance of the channels of an image, for norms.
#pragma once

#include <algorithm>

#include "cpu/kernels/channels.h"
#include "cpu/kernels/fetch_ahead.h"

namespace arbalest::kernels {

// Of the elements of a row, each over the rows of some images. A channel may have several elements.
//
// They come from sums of (x - shift) and of its square. With a shift near the mean nothing cancels, so one pass
// in float is as good as two: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
struct Moments {
  double count[kMostWidth], mean[kMostWidth], square[kMostWidth];  // square: of the differences from the mean
};

// Of all elements of a channel or a group of channels, merged part by part by Chan, Golub and LeVeque's rule.
struct MergedMoments {
  double count = 0, mean = 0, square = 0;  // square: of the differences from the mean

  void merge(const MergedMoments& part) {
    if (part.count == 0) return;
    const double total = count + part.count, step = part.mean - mean, share = part.count / total;
    square += part.square + step * step * count * share;
    mean += step * share;
    count = total;
  }
};

template <int Vectors> struct Sums {
  Floats shift[Vectors], sum[Vectors] = {}, square[Vectors] = {};
};

template <class T, int Vectors, bool Partial> void add_rows(const T* x, int64_t rows, int64_t stride, int width, Sums<Vectors>& sums) {
  constexpr int kUnrolled = 4 / Vectors;  // chains of additions enough to hide their latency
  Floats shift[Vectors], sum[kUnrolled][Vectors] = {}, square[kUnrolled][Vectors] = {};
  for (int v = 0; v < Vectors; ++v) shift[v] = sums.shift[v];
  const auto add = [&](const T* row, int chain) {
    if (chain % kRowsOfLine<T, Vectors> == 0) fetch_ahead(row);
    for (int v = 0; v < Vectors; ++v) {
      const Floats difference = load<Partial>(row + v * kLanes, width) - shift[v];
      sum[chain][v] += difference;
      square[chain][v] += difference * difference;
    }
  };
  int64_t row = 0;
  for (; row + kUnrolled <= rows; row += kUnrolled) {
    for (int chain = 0; chain < kUnrolled; ++chain) add(x + (row + chain) * stride, chain);
  }
  for (; row < rows; ++row) add(x + row * stride, 0);
  for (int chain = 0; chain < kUnrolled; ++chain) {
    for (int v = 0; v < Vectors; ++v) {
      sums.sum[v] += sum[chain][v];
      sums.square[v] += square[chain][v];
    }
  }
}

// Elements [begin, end) of a row, all in one register.
inline void note(Floats shift, Floats sum, Floats square, double count, int begin, int end, Moments& moments) {
  const double inverse = count > 0 ? 1 / count : 0;
  for (int i = begin; i < end; ++i) {
    const int lane = i % kLanes;
    const double step = sum[lane] * inverse;
    moments.count[i] = count;
    moments.mean[i] = shift[lane] + step;
    moments.square[i] = std::max(0.0, square[lane] - step * sum[lane]);
  }
}

template <class T, int Vectors, bool Partial>
void find_moments(const ChannelGroups& layout, const ChannelGroup& group, const T* all, int64_t first, int64_t last, Moments& moments) {
  const int64_t rows = layout.rows, stride = layout.row_stride;
  Sums<Vectors> sums;
  // A shift near the mean: that of some rows from all over the chunk's first image.
  constexpr int64_t kSamples = 8;
  Floats sample[Vectors] = {};
  for (int64_t i = 0; i < kSamples; ++i) {
    const T* row = all + layout.at(group, first) + i * rows / kSamples * stride;
    for (int v = 0; v < Vectors; ++v) {
      sample[v] += rows > 0 ? load<Partial>(row + v * kLanes, group.width) : load<true>(row, layout.tail);
    }
  }
  for (int v = 0; v < Vectors; ++v) sums.shift[v] = sample[v] * (1.0f / kSamples);

  Sums<1> tails;
  tails.shift[0] = sums.shift[0];
  for (int64_t image = first; image < last; ++image) {
    const T* x = all + layout.at(group, image);
    for_each_piece(rows,
                   [&](int64_t row, int64_t count) { add_rows<T, Vectors, Partial>(x + row * stride, count, stride, group.width, sums); });
    if (layout.tail) add_rows<T, 1, true>(x + rows * stride, 1, 0, layout.tail, tails);
  }
  const auto images = static_cast<double>(last - first), count = images * static_cast<double>(rows);
  for (int v = 0; v < Vectors; ++v) note(sums.shift[v], sums.sum[v], sums.square[v], count, v * kLanes, (v + 1) * kLanes, moments);
  if (layout.tail)
    note(tails.shift[0], sums.sum[0] + tails.sum[0], sums.square[0] + tails.square[0], count + images, 0, layout.tail, moments);
}

// Of a group's rows in images [first, last) of x.
template <class T>
void find_moments(const ChannelGroups& layout, const ChannelGroup& group, const T* x, int64_t first, int64_t last, Moments& moments) {
  for_registers(group, [&]<int Vectors, bool Partial>() { find_moments<T, Vectors, Partial>(layout, group, x, first, last, moments); });
}

}  // namespace arbalest::kernels
