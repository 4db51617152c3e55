// Products of small matrices that lie in the cache: rows of results are kept in registers while the inner axis runs.
#pragma once

#include <cstdint>

#include "cpu/kernels/pairs.h"
#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// A matrix whose item (i, p) is at data[i * row + p * column]: a transpose is the same memory with the strides exchanged. Items are floats,
// or pairs of values that follow each other on the inner axis.
template <class Item> struct StridedOf {
  const Item* data;
  int64_t row, column;
};
using Strided = StridedOf<float>;

// The inner axis in items, in stretches of one length. From each to the next, a moves on by a_step items and b by b_step.
struct Depth {
  int64_t length;
  int64_t stretches = 1, a_step = 0, b_step = 0;
};

// Elements, rounded up to whole registers.
constexpr int64_t in_registers(int64_t elements) { return (elements + kLanes - 1) / kLanes * kLanes; }

// Rows and registers of the result that are computed at once: with the registers of b and one of a, they use all there are.
inline constexpr int kTileRows = kLanes == 16 ? 12 : kLanes == 8 ? 6 : 4;
inline constexpr int kTileVectors = 2;
inline constexpr int kWideTileRows = kTileRows * 2 / 3;
inline constexpr int kWideTileVectors = 3;

// finish(i, v, sums) for each row i and register v of a (M, depth) b (depth, V registers).
template <int M, int V, class Item, class Finish>
inline void tile(const StridedOf<Item>& a, const Item* b, int64_t b_row, const Depth& depth, const Finish& finish) {
  Floats sums[M][V] = {};
  for (int64_t stretch = 0; stretch < depth.stretches; ++stretch) {
    const Item *rows = a.data + stretch * depth.a_step, *columns = b + stretch * depth.b_step;
    for (int64_t p = 0; p < depth.length; ++p) {
      RegisterOf<Item> right[V];
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) right[v] = in_register(load(columns + p * b_row + v * kLanes));
#pragma GCC unroll 12
      for (int i = 0; i < M; ++i) {
        const auto left = in_register(all(rows[i * a.row + p * a.column]));
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) sums[i][v] = multiply_add(sums[i][v], left, right[v]);
      }
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) finish(i, v, sums[i][v]);
  }
}

// `rows` of at most M.
template <int M, int V, class Item, class Finish>
inline void tile_of(int64_t rows, const StridedOf<Item>& a, const Item* b, int64_t b_row, const Depth& depth, const Finish& finish) {
  if (rows == M) return tile<M, V>(a, b, b_row, depth, finish);
  if constexpr (M > 1) tile_of<M - 1, V>(rows, a, b, b_row, depth, finish);
}

// finish(row, column, sums) for each register of a (rows, depth) b (depth, columns). `columns` fill whole registers.
template <class Item, class Finish>
[[gnu::always_inline]] inline void product(const StridedOf<Item>& a, const Item* b, int64_t b_row, int64_t rows, int64_t columns,
                                           int64_t depth, const Finish& finish) {
  for (int64_t j = 0; j < columns; j += kTileVectors * kLanes) {
    for (int64_t i = 0; i < rows; i += kTileRows) {
      const int64_t some = rows - i < kTileRows ? rows - i : kTileRows;
      const StridedOf<Item> from{a.data + i * a.row, a.row, a.column};
      const auto done = [&](int64_t row, int64_t v, Floats sums) { finish(i + row, j + v * kLanes, sums); };
      if (j + kTileVectors * kLanes <= columns)
        tile_of<kTileRows, kTileVectors>(some, from, b + j, b_row, {depth}, done);
      else
        tile_of<kTileRows, 1>(some, from, b + j, b_row, {depth}, done);
    }
  }
}

// A share of what is left, at most `most`, such that all shares are about as large.
inline int64_t even_share(int64_t left, int64_t most) {
  const int64_t shares = (left + most - 1) / most;
  return (left + shares - 1) / shares;
}

// finish(row, column, sums, lanes) for all of a (rows, depth) b (depth, columns), for a register of `lanes` columns from `column` on at
// once. The last register of b is read as a whole. Rows and registers are dealt out evenly to tiles: a small tile waits for its own sums.
template <class Finish>
inline void product_in_tiles(const Strided& a, const float* b, int64_t b_row, int64_t rows, int64_t columns, const Depth& depth,
                             const Finish& finish) {
  const int64_t registers = (columns + kLanes - 1) / kLanes;
  for (int64_t first = 0, vectors; first < registers; first += vectors) {
    vectors = even_share(registers - first, kWideTileVectors);
    for (int64_t i = 0, some; i < rows; i += some) {
      some = even_share(rows - i, kWideTileRows);
      const Strided from{a.data + i * a.row, a.row, a.column};
      const auto done = [&](int64_t row, int64_t v, Floats sums) {
        const int64_t column = (first + v) * kLanes, lanes = columns - column;
        finish(i + row, column, sums, lanes < kLanes ? static_cast<int>(lanes) : kLanes);
      };
      const auto run = [&]<int V>() { tile_of<kWideTileRows, V>(some, from, b + first * kLanes, b_row, depth, done); };
      if (vectors == 3)
        run.template operator()<3>();
      else if (vectors == 2)
        run.template operator()<2>();
      else
        run.template operator()<1>();
    }
  }
}

// A matrix b (depth, columns) in panels of as many registers as a wide tile has, so that what a tile reads lies in one piece. Rows of it
// that lie a multiple of a page apart would share few sets of a cache. `columns` fill whole registers.
struct Panels {
  static constexpr int64_t kWidth = int64_t{kWideTileVectors} * kLanes;

  int64_t depth, columns;

  int64_t width_of(int64_t first) const { return columns - first < kWidth ? columns - first : kWidth; }
  // The place of b (p, column).
  int64_t at(int64_t p, int64_t column) const {
    const int64_t first = column / kWidth * kWidth;
    return first * depth + p * width_of(first) + column - first;
  }
};

// finish(row, column, sums) for each register of a (rows, depth) b, of which b is in panels. Rows are dealt out evenly to tiles.
template <class Item, class Finish>
[[gnu::always_inline]] inline void product_of_panels(const StridedOf<Item>& a, const Item* b, const Panels& panels, int64_t rows,
                                                     const Finish& finish) {
  for (int64_t first = 0; first < panels.columns; first += Panels::kWidth) {
    const int64_t width = panels.width_of(first);
    for (int64_t i = 0, some; i < rows; i += some) {
      some = even_share(rows - i, kWideTileRows);
      const StridedOf<Item> from{a.data + i * a.row, a.row, a.column};
      const auto run = [&]<int V>() {
        tile_of<kWideTileRows, V>(some, from, b + first * panels.depth, width, {panels.depth},
                                  [&](int64_t row, int64_t v, Floats sums) { finish(i + row, first + v * kLanes, sums); });
      };
      if (width == 3 * kLanes)
        run.template operator()<3>();
      else if (width == 2 * kLanes)
        run.template operator()<2>();
      else
        run.template operator()<1>();
    }
  }
}

}  // namespace arbalest::kernels
