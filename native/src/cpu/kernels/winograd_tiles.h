// The tiles of activations, and the transforms of these, of weights and of outputs.
#pragma once

#include "cpu/kernels/winograd.h"

namespace arbalest::kernels::winograd {

// Of rows of tiles, or of blocks.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// The tiles of the outputs of a convolution, in rows of tiles from the first image to the last one. The last row and column of tiles may be
// partly outside.
struct Tiles {
  int64_t across, down, rows;

  explicit Tiles(const Blocked& y) : across((y.width + kTile - 1) / kTile), down((y.height + kTile - 1) / kTile), rows(y.images * down) {}

  int64_t count() const { return rows * across; }
};

// Transformed tiles in floats: each product has blocks of channels, and these have tiles. A product has an odd number of registers, so that
// those of a tile are not all in the same set of a cache.
template <int Taps> struct Panel {
  int64_t block, product;

  Panel(int64_t blocks, int64_t tiles) : block(tiles * kLanes), product((blocks * tiles | 1) * kLanes) {}

  int64_t floats() const { return kProducts<Taps> * product; }
};

// Floats that a row of tiles takes while it is transformed.
template <int Taps> int64_t floats_of_row(const Tiles& tiles) { return kPatch<Taps> * (tiles.across * kTile + Taps - 1) * kLanes; }

// A row of tiles of a block of channels, of which each needs `before` pixels before its outputs. What lies outside of the image counts as
// zeros.
template <class T> struct RowOfTiles {
  const Blocked& shape;
  const Tiles& tiles;
  const T* plane;
  int64_t row, before;
};

// Transforms a row of tiles that need Size pixels a side, columns first, and fetches the next row. `passing` has floats_of_row().
template <int Taps, int Size, Transform<Size, kPatch<Taps>> transform, class T>
[[gnu::noinline]] void transform_row(const RowOfTiles<T>& of, float* passing, float* to, int64_t product) {
  constexpr int kPoints = kPatch<Taps>;
  alignas(sizeof(Floats)) static constexpr T kZeros[kLanes] = {};
  const Blocked& shape = of.shape;
  const int64_t columns = of.tiles.across * kTile + Size - kTile, row_of_passing = columns * kLanes;
  const T* rows[Size];
  int64_t steps[Size];
  for (int i = 0; i < Size; ++i) {
    const int64_t row = of.row * kTile + i - of.before;
    const bool inside = row >= 0 && row < shape.height;
    rows[i] = inside ? of.plane + row * shape.row() : kZeros;
    steps[i] = inside ? kLanes : 0;
  }
  // What the row of tiles below needs besides.
  const T* next = of.plane + (of.row * kTile + Size - of.before) * shape.row();
  const auto outside = [&](int64_t column) {
#pragma GCC unroll 8
    for (int i = 0; i < kPoints; ++i) store(passing + i * row_of_passing + column * kLanes, Floats{});
  };
  const int64_t end = std::min(of.before + shape.width, columns);
  for (int64_t column = 0; column < of.before; ++column) outside(column);
  for (int64_t column = of.before; column < end; ++column) {
    Floats from[Size], values[kPoints];
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) __builtin_prefetch(next + i * shape.row(), 0, 2);
    next += kLanes;
#pragma GCC unroll 8
    for (int i = 0; i < Size; ++i) {
      from[i] = load(rows[i]);
      rows[i] += steps[i];
    }
    transform(from, values);
#pragma GCC unroll 8
    for (int i = 0; i < kPoints; ++i) store(passing + i * row_of_passing + column * kLanes, values[i]);
  }
  for (int64_t column = end; column < columns; ++column) outside(column);
  for (int row = 0; row < kPoints; ++row, passing += row_of_passing, to += kPoints * product) {
    for (int64_t tile = 0; tile < of.tiles.across; ++tile) {
      Floats from[Size], values[kPoints];
#pragma GCC unroll 8
      for (int i = 0; i < Size; ++i) from[i] = load(passing + (tile * kTile + i) * kLanes);
      transform(from, values);
#pragma GCC unroll 8
      for (int i = 0; i < kPoints; ++i) store(to + i * product + tile * kLanes, values[i]);
    }
  }
}

// How far it is in transformed weights from one channel and from one product to the next.
struct StepsOfWeights {
  int64_t channel, product;
};

// Transforms the taps between some channels of a block and a block of filters, and fetches `next`, which is wanted then, unless it is null.
template <int Taps>
[[gnu::noinline]] void transform_weights(const float* taps, int64_t channels, const float* next, float* to, const StepsOfWeights& steps) {
  for (int64_t channel = 0; channel < channels; ++channel, taps += kLanes, to += steps.channel) {
    if (next) {
      // Into the second cache: the first has room for fewer fetches under way than are needed.
      for (int tap = 0; tap < Taps * Taps; ++tap, next += kLanes) __builtin_prefetch(next, 0, 2);
    }
    transform_square<Taps, kPatch<Taps>, Axis<Taps>::transform_taps>(
        [&](int row, int column) __attribute__((always_inline)) { return load(taps + (row * Taps + column) * kTapSize); },
        [&](int row, int column, Floats value)
            __attribute__((always_inline)) { store(to + (row * kPatch<Taps> + column) * steps.product, value); });
  }
}

// Where the outputs of a tile lie, of which `height` rows and `width` columns are inside.
template <class T> struct OutputsOfTile {
  T* pixels;
  int64_t row, height, width;
};

// The outputs of a tile from the sums of its products.
template <int Taps, class T>
[[gnu::noinline]] void store_tile(const float* sums, int64_t product, const convolution_3x3::Finish& finish, const OutputsOfTile<T>& to) {
  const auto store_inside = [&](const auto& inside) __attribute__((always_inline)) {
    transform_square<kPatch<Taps>, kTile, Axis<Taps>::outputs_of>(
        [&](int row, int column) __attribute__((always_inline)) { return load(sums + (row * kPatch<Taps> + column) * product); },
        [&](int row, int column, Floats value) __attribute__((always_inline)) {
          if (inside(row, column)) store(to.pixels + row * to.row + column * kLanes, finish(value));
        });
  };
  if (to.height == kTile && to.width == kTile)
    store_inside([](int, int) { return true; });
  else
    store_inside([&](int row, int column) { return row < to.height && column < to.width; });
}

}  // namespace arbalest::kernels::winograd
