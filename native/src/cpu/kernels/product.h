// Products of small matrices that lie in the cache: rows of results are kept in registers while the inner axis runs.
#pragma once

#include <utility>

#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// A matrix whose element (i, p) is at data[i * row + p * column]: a transpose is the same memory with the strides exchanged.
struct Strided {
  const float* data;
  int64_t row, column;
};

// Rows of the result in registers: with two registers each, plus two of b and one of a, they use all registers.
inline constexpr int kTileRows = kLanes == 16 ? 12 : kLanes == 8 ? 6 : 4;
inline constexpr int kTileVectors = 2;

// c (M, V registers) = a (M, depth) b (depth, V registers); with Add, c += a b.
template <int M, int V, bool Add>
inline void tile(const Strided& a, const float* b, int64_t b_row, float* c, int64_t c_row, int64_t depth) {
  Floats sums[M][V];
#pragma GCC unroll 12
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sums[i][v] = Add ? load(c + i * c_row + v * kLanes) : Floats{};
  }
  for (int64_t p = 0; p < depth; ++p) {
    Floats right[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) right[v] = in_register(load(b + p * b_row + v * kLanes));
#pragma GCC unroll 12
    for (int i = 0; i < M; ++i) {
      const Floats left = in_register(all(a.data[i * a.row + p * a.column]));
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sums[i][v] += left * right[v];
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) store(c + i * c_row + v * kLanes, sums[i][v]);
  }
}

// `rows` of at most M.
template <int M, int V, bool Add>
inline void tile_of(int64_t rows, const Strided& a, const float* b, int64_t b_row, float* c, int64_t c_row, int64_t depth) {
  if (rows == M) return tile<M, V, Add>(a, b, b_row, c, c_row, depth);
  if constexpr (M > 1) tile_of<M - 1, V, Add>(rows, a, b, b_row, c, c_row, depth);
}

// c (rows, columns) = a (rows, depth) b (depth, columns); with Add, c += a b. `columns` fill whole registers.
template <bool Add>
inline void product(const Strided& a, const float* b, int64_t b_row, float* c, int64_t c_row, int64_t rows, int64_t columns,
                    int64_t depth) {
  for (int64_t j = 0; j < columns; j += kTileVectors * kLanes) {
    const bool whole = j + kTileVectors * kLanes <= columns;
    for (int64_t i = 0; i < rows; i += kTileRows) {
      const int64_t some = rows - i < kTileRows ? rows - i : kTileRows;
      const Strided from{a.data + i * a.row, a.row, a.column};
      float* to = c + i * c_row + j;
      if (whole)
        tile_of<kTileRows, kTileVectors, Add>(some, from, b + j, b_row, to, c_row, depth);
      else
        tile_of<kTileRows, 1, Add>(some, from, b + j, b_row, to, c_row, depth);
    }
  }
}

}  // namespace arbalest::kernels
