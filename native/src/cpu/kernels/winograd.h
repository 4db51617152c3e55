// Convolutions of 3x3 by Winograd's F(4x4, 3x3): a tile of 4x4 outputs takes 36 products of a channel and a filter, where the sums of taps
// take 144. An axis of a tile is a product of polynomials, of 3 taps by what the outputs need, and is found from its values at 6 points.
// Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016. The points are 0, 3/4, -3/4, 3/2, -3/2 and infinity. Powers of
// these are exact in float, and they are close to 1: rounding adds about twice what it adds to sums of taps. With the usual points 0, 1,
// -1, 2, -2 and infinity it adds four times as much; Barabasz et al., Error Analysis and Improving the Accuracy of Winograd Convolution,
// 2020.
#pragma once

#include <algorithm>

#include "cpu/kernels/convolution_3x3.h"
#include "cpu/kernels/tiles.h"

namespace arbalest::kernels::winograd {

// In the names of implementations.
inline constexpr const char* kMethod = "winograd";

// Outputs of a tile, and pixels that they need, a side. Each of the products of a tile has its place in a square of the same side.
inline constexpr int kTile = 4, kPatch = 6, kProducts = kPatch * kPatch;

// The points, their squares, and what the values of taps at these points are divided by.
inline constexpr float kNear = 0.75f, kFar = 1.5f, kNear2 = kNear * kNear, kFar2 = kFar * kFar;
inline constexpr float kOfZero = 1 / (kNear2 * kFar2), kOfNear = 1 / (2 * kNear2 * (kNear2 - kFar2)),
                       kOfFar = 1 / (2 * kFar2 * (kFar2 - kNear2));

// One axis of a transform, of vectors.
template <int From, int To> using Transform = void(const Floats (&from)[From], Floats (&to)[To]);

[[gnu::always_inline]] inline void transform_patch(const Floats (&x)[kPatch], Floats (&v)[kPatch]) {
  v[0] = x[4] - (kNear2 + kFar2) * x[2] + kNear2 * kFar2 * x[0];
  const Floats near = x[4] - kFar2 * x[2], of_near = x[3] - kFar2 * x[1];
  v[1] = near + kNear * of_near;
  v[2] = near - kNear * of_near;
  const Floats far = x[4] - kNear2 * x[2], of_far = x[3] - kNear2 * x[1];
  v[3] = far + kFar * of_far;
  v[4] = far - kFar * of_far;
  v[5] = x[5] - (kNear2 + kFar2) * x[3] + kNear2 * kFar2 * x[1];
}

[[gnu::always_inline]] inline void transform_taps(const Floats (&w)[3], Floats (&u)[kPatch]) {
  u[0] = kOfZero * w[0];
  const Floats near = kOfNear * w[0] + (kOfNear * kNear2) * w[2], of_near = (kOfNear * kNear) * w[1];
  u[1] = near + of_near;
  u[2] = near - of_near;
  const Floats far = kOfFar * w[0] + (kOfFar * kFar2) * w[2], of_far = (kOfFar * kFar) * w[1];
  u[3] = far + of_far;
  u[4] = far - of_far;
  u[5] = w[2];
}

[[gnu::always_inline]] inline void outputs_of(const Floats (&m)[kPatch], Floats (&y)[kTile]) {
  const Floats near = m[1] + m[2], of_near = m[1] - m[2], far = m[3] + m[4], of_far = m[3] - m[4];
  y[0] = m[0] + near + far;
  y[1] = kNear * of_near + kFar * of_far;
  y[2] = kNear2 * near + kFar2 * far;
  y[3] = m[5] + kNear * kNear2 * of_near + kFar * kFar2 * of_far;
}

// The transpose of outputs_of.
[[gnu::always_inline]] inline void transform_outputs(const Floats (&y)[kTile], Floats (&z)[kPatch]) {
  z[0] = y[0];
  const Floats near = y[0] + kNear2 * y[2], of_near = kNear * y[1] + (kNear * kNear2) * y[3];
  z[1] = near + of_near;
  z[2] = near - of_near;
  const Floats far = y[0] + kFar2 * y[2], of_far = kFar * y[1] + (kFar * kFar2) * y[3];
  z[3] = far + of_far;
  z[4] = far - of_far;
  z[5] = y[3];
}

// The transpose of transform_taps.
[[gnu::always_inline]] inline void taps_of(const Floats (&u)[kPatch], Floats (&w)[3]) {
  const Floats near = u[1] + u[2], of_near = u[1] - u[2], far = u[3] + u[4], of_far = u[3] - u[4];
  w[0] = kOfZero * u[0] + kOfNear * near + kOfFar * far;
  w[1] = (kOfNear * kNear) * of_near + (kOfFar * kFar) * of_far;
  w[2] = u[5] + (kOfNear * kNear2) * near + (kOfFar * kFar2) * far;
}

// Both axes of a transform: load(row, column) -> store(row, column, value).
template <int From, int To, Transform<From, To> transform, class Load, class Store>
[[gnu::always_inline]] inline void transform_square(const Load& load_one, const Store& store_one) {
  Floats columns[From][To];
#pragma GCC unroll 6
  for (int column = 0; column < From; ++column) {
    Floats from[From];
#pragma GCC unroll 6
    for (int row = 0; row < From; ++row) from[row] = load_one(row, column);
    transform(from, columns[column]);
  }
#pragma GCC unroll 6
  for (int row = 0; row < To; ++row) {
    Floats from[From], to[To];
#pragma GCC unroll 6
    for (int column = 0; column < From; ++column) from[column] = columns[column][row];
    transform(from, to);
#pragma GCC unroll 6
    for (int column = 0; column < To; ++column) store_one(row, column, to[column]);
  }
}

// The tiles of an activation, in rows of tiles from the first image to the last one. The last row and column of tiles may be partly
// outside.
struct Tiles {
  int64_t across, down, rows;

  explicit Tiles(const convolution_3x3::Blocked& shape)
      : across((shape.width + kTile - 1) / kTile), down((shape.height + kTile - 1) / kTile), rows(shape.images * down) {}

  int64_t count() const { return rows * across; }
};

// Transformed tiles in floats: each product has blocks of channels, and these have tiles. A line more, so that the products of a tile are
// not all in the same set of a cache.
struct Panel {
  int64_t block, product;

  Panel(int64_t blocks, int64_t tiles) : block(tiles * kLanes), product((blocks * tiles | 1) * kLanes) {}

  int64_t floats() const { return kProducts * product; }
};

// The floats that a row of tiles takes while it is transformed.
inline int64_t floats_of_row(const Tiles& tiles) { return kPatch * (tiles.across * kTile + 2) * kLanes; }

// Transforms a row of tiles of a block of channels, columns first, and fetches the next one. `plane` is the image's. What is outside of it
// counts as zeros. `passing` has floats_of_row().
template <int From, Transform<From, kPatch> transform, class T>
[[gnu::noinline]] void transform_row(const convolution_3x3::Blocked& shape, const Tiles& tiles, const T* plane, int64_t row_of_tiles,
                                     float* passing, float* to, int64_t product) {
  // A patch begins a pixel before its tile.
  constexpr int kBefore = (From - kTile) / 2;
  alignas(sizeof(Floats)) static constexpr T kZeros[kLanes] = {};
  const int64_t columns = tiles.across * kTile + 2 * kBefore, row_of_passing = columns * kLanes;
  const T* rows[From];
  int64_t steps[From];
  for (int i = 0; i < From; ++i) {
    const int64_t row = row_of_tiles * kTile + i - kBefore;
    const bool inside = row >= 0 && row < shape.height;
    rows[i] = inside ? plane + row * shape.row() : kZeros;
    steps[i] = inside ? kLanes : 0;
  }
  // What the row of tiles below needs besides.
  const T* next = plane + ((row_of_tiles + 1) * kTile + kBefore) * shape.row();
  const auto outside = [&](int64_t column) {
#pragma GCC unroll 6
    for (int i = 0; i < kPatch; ++i) store(passing + i * row_of_passing + column * kLanes, Floats{});
  };
  if (kBefore > 0) outside(0);
  for (int64_t column = kBefore; column < kBefore + shape.width; ++column) {
    Floats from[From], values[kPatch];
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) __builtin_prefetch(next + i * shape.row(), 0, 2);
    next += kLanes;
#pragma GCC unroll 6
    for (int i = 0; i < From; ++i) {
      from[i] = load(rows[i]);
      rows[i] += steps[i];
    }
    transform(from, values);
#pragma GCC unroll 6
    for (int i = 0; i < kPatch; ++i) store(passing + i * row_of_passing + column * kLanes, values[i]);
  }
  for (int64_t column = kBefore + shape.width; column < columns; ++column) outside(column);
  for (int row = 0; row < kPatch; ++row, passing += row_of_passing, to += kPatch * product) {
    for (int64_t tile = 0; tile < tiles.across; ++tile) {
      Floats from[From], values[kPatch];
#pragma GCC unroll 6
      for (int i = 0; i < From; ++i) from[i] = load(passing + (tile * kTile + i) * kLanes);
      transform(from, values);
#pragma GCC unroll 6
      for (int i = 0; i < kPatch; ++i) store(to + i * product + tile * kLanes, values[i]);
    }
  }
}

// Whether it is such a convolution of x (N, I, H, W) by w (O, I, 3, 3), and takes less time than sums of taps. In bfloat16 pairs have
// twice as many multiply-adds, and AMX has sixteen times as many.
inline bool takes(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  using namespace convolution_3x3;
  if (layout != kActivations || !has_shapes(request, x, w) || (request.precision == Type::bf16 && has_tiles())) return false;
  // For each channel and each register of filters: what the transform of the weights takes, in multiply-adds; and what it takes besides the
  // products to transform tiles.
  constexpr int64_t kOfWeights = 120, kOfTiles = 3, kOfProducts = 2;
  const auto inside = [](int64_t size) { return kSide * size - 2; };
  const int64_t products = kProducts * Tiles(Blocked(x)).count();
  return kOfWeights + products * kOfTiles / kOfProducts <= x[0] * inside(x[2]) * inside(x[3]);
}

}  // namespace arbalest::kernels::winograd
