// The two passes of the gradient of a norm of images over rows: the sums of g = (gy + gy2) masked by 0 < y < most and of g * (x - mean),
// with gresidual = g; then gx = g * scale + (x - mean) * slope + offset.
#pragma once

#include "cpu/kernels/channels.h"
#include "cpu/kernels/fetch_ahead.h"
#include "cpu/kernels/normalise_rows.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// The numbers of a group's channels, spread over a row. All are zero in padding lanes, and so is gx.
struct GradientRow {
  float mean[kMostWidth], scale[kMostWidth], slope[kMostWidth], offset[kMostWidth];

  GradientRow() = default;
  // Each is given from the group's first channel on.
  GradientRow(const ChannelGroup& group, const float* means, const float* scales, const float* slopes, const float* offsets) {
    spread(group, mean, means);
    spread(group, scale, scales);
    spread(group, slope, slopes);
    spread(group, offset, offsets);
  }
};

// What a norm's gradient reads and writes, in the order of its operator: x, -, -, -, y?, gy, gy2? -> gx?, -, -, gresidual?.
template <class T> struct GradientStreams {
  const T *x, *y, *gy, *gy2;  // y: null without relu
  T *gx, *gresidual;
  float most;

  explicit GradientStreams(const OperatorSpec& spec)
      : x(input<T>(spec, 0)),
        y(spec.attributes.number("relu", 0) != 0 ? input<T>(spec, 4) : nullptr),
        gy(input<T>(spec, 5)),
        gy2(input<T>(spec, 6)),
        gx(output<T>(spec, 0)),
        gresidual(output<T>(spec, 3)),
        most(most_of(spec.attributes)) {}

  GradientStreams at(int64_t offset) const {
    GradientStreams moved = *this;
    const auto move = [offset](auto*& pointer) { pointer = pointer ? pointer + offset : nullptr; };
    move(moved.x), move(moved.y), move(moved.gy), move(moved.gy2), move(moved.gx), move(moved.gresidual);
    return moved;
  }
};

// The streams that are present.
template <bool Masked, bool Second, bool Residual> struct Variant {
  static constexpr bool masked = Masked, second = Second, residual = Residual;
};

// body.operator()<Variant>() for these.
template <class T, class Body> void for_variant(const GradientStreams<T>& streams, const Body& body) {
  const auto residual = [&]<bool Masked, bool Second>() {
    streams.gresidual ? body.template operator()<Variant<Masked, Second, true>>()
                      : body.template operator()<Variant<Masked, Second, false>>();
  };
  const auto second = [&]<bool Masked>() {
    streams.gy2 ? residual.template operator()<Masked, true>() : residual.template operator()<Masked, false>();
  };
  streams.y ? second.template operator()<true>() : second.template operator()<false>();
}

template <class Which, class T, bool Partial> Floats gradient(const GradientStreams<T>& streams, int64_t at, int width) {
  Floats g = load<Partial>(streams.gy + at, width);
  if constexpr (Which::second) g += load<Partial>(streams.gy2 + at, width);
  if constexpr (Which::masked) g = where_within(load<Partial>(streams.y + at, width), streams.most, g);
  return g;
}

template <class Which, class T> void fetch_ahead_of_sums(const GradientStreams<T>& streams, int64_t at) {
  fetch_ahead(streams.x + at);
  fetch_ahead(streams.gy + at);
  if constexpr (Which::masked) fetch_ahead(streams.y + at);
  if constexpr (Which::second) fetch_ahead(streams.gy2 + at);
  if constexpr (Which::residual) fetch_ahead<true>(streams.gresidual + at);
}

template <class Which, class T, int Vectors, bool Partial>
void sum_rows(GradientStreams<T> streams, int64_t rows, int64_t stride, int width, const float* mean, Floats* sums, Floats* products) {
  constexpr int kUnrolled = 4 / Vectors;
  Floats middle[Vectors], sum[kUnrolled][Vectors] = {}, product[kUnrolled][Vectors] = {};
  for (int v = 0; v < Vectors; ++v) middle[v] = load(mean + v * kLanes);
  const auto add = [&](int64_t row, int chain) {
    if (kOutrunsMemory && chain % kRowsOfLine<T, Vectors> == 0) fetch_ahead_of_sums<Which>(streams, row * stride);
    for (int v = 0; v < Vectors; ++v) {
      const int64_t at = row * stride + v * kLanes;
      const Floats g = gradient<Which, T, Partial>(streams, at, width);
      if constexpr (Which::residual) store<Partial>(streams.gresidual + at, g, width);
      sum[chain][v] += g;
      product[chain][v] += g * (load<Partial>(streams.x + at, width) - middle[v]);
    }
  };
  int64_t row = 0;
  for (; row + kUnrolled <= rows; row += kUnrolled) {
    for (int chain = 0; chain < kUnrolled; ++chain) add(row + chain, chain);
  }
  for (; row < rows; ++row) add(row, 0);
  for (int chain = 0; chain < kUnrolled; ++chain) {
    for (int v = 0; v < Vectors; ++v) {
      sums[v] += sum[chain][v];
      products[v] += product[chain][v];
    }
  }
}

template <class Which, class T, int Vectors, bool Partial>
void apply_rows(GradientStreams<T> streams, int64_t rows, int64_t stride, int width, const GradientRow& by) {
  Floats mean[Vectors], scale[Vectors], slope[Vectors], offset[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    mean[v] = load(by.mean + v * kLanes);
    scale[v] = load(by.scale + v * kLanes);
    slope[v] = load(by.slope + v * kLanes);
    offset[v] = load(by.offset + v * kLanes);
  }
#pragma GCC unroll 4
  for (int64_t row = 0; row < rows; ++row) {
    if (kOutrunsMemory && row % kRowsOfLine<T, Vectors> == 0) fetch_ahead<true>(streams.gx + row * stride);
    for (int v = 0; v < Vectors; ++v) {
      const int64_t at = row * stride + v * kLanes;
      Floats g;
      if constexpr (Which::residual)
        g = load<Partial>(streams.gresidual + at, width);
      else
        g = gradient<Which, T, Partial>(streams, at, width);
      const Floats value = g * scale[v] + ((load<Partial>(streams.x + at, width) - mean[v]) * slope[v] + offset[v]);
      store<Partial>(streams.gx + at, value, width);
    }
  }
}

// Adds the sums of a group's rows in one image, element by element of a row.
template <class Which, class T>
void sum_rows(const ChannelGroups& layout, const ChannelGroup& group, int64_t image, const GradientStreams<T>& streams, const float* mean,
              Floats* sums, Floats* products) {
  const GradientStreams<T> own = streams.at(layout.at(group, image));
  for_registers(group, [&]<int Vectors, bool Partial>() {
    for_each_piece(layout.rows, [&](int64_t row, int64_t rows) {
      sum_rows<Which, T, Vectors, Partial>(own.at(row * layout.row_stride), rows, layout.row_stride, group.width, mean, sums, products);
    });
  });
  if (layout.tail) sum_rows<Which, T, 1, true>(own.at(layout.rows * layout.row_stride), 1, 0, layout.tail, mean, sums, products);
}

// Writes gx, if it is wanted, of a group's rows in one image.
template <class Which, class T>
void apply_rows(const ChannelGroups& layout, const ChannelGroup& group, int64_t image, const GradientStreams<T>& streams,
                const GradientRow& by) {
  if (!streams.gx) return;
  const GradientStreams<T> own = streams.at(layout.at(group, image));
  for_registers(group, [&]<int Vectors, bool Partial>() {
    apply_rows<Which, T, Vectors, Partial>(own, layout.rows, layout.row_stride, group.width, by);
  });
  if (layout.tail) apply_rows<Which, T, 1, true>(own.at(layout.rows * layout.row_stride), 1, 0, layout.tail, by);
}

}  // namespace arbalest::kernels
