// Tiles of 16 x 16 floats that a warp computes with between two products: what one product gives is the left operand of the next, without
// a way through shared memory. On a GPU a tile lies in the registers of the warp's 32 lanes, as tensor cores give it (mma.m16n8k16); in the
// stand-in the warp's first lane has all of it and does the work of the others.
#pragma once

#include <cmath>

#include "cuda/tile_product.h"

namespace arbalest::cuda {

// A number of each row of a tile; on a GPU the four lanes that share a row have it each.
struct WarpRows {
#if defined(__CUDA_ARCH__)
  static constexpr int kRows = 2;
#else
  static constexpr int kRows = kTile;
#endif
  float at[kRows];

  EVERYWHERE void fill(float value) {
    WHOLLY_UNROLLED
    for (float& each : at) each = value;
  }
};

// What the four lanes of a row have found of it, together.
template <class Combine> EVERYWHERE void combine_lanes(WarpRows& rows, const Combine& combine) {
#if defined(__CUDA_ARCH__)
  WHOLLY_UNROLLED
  for (float& each : rows.at) {
    each = combine(each, __shfl_xor_sync(0xffffffffu, each, 1));
    each = combine(each, __shfl_xor_sync(0xffffffffu, each, 2));
  }
#else
  (void)rows;
  (void)combine;
#endif
}

struct WarpTile {
#if defined(__CUDA_ARCH__)
  float at[8];
#else
  float at[kTile * kTile];
#endif

  EVERYWHERE void clear() {
    WHOLLY_UNROLLED
    for (float& each : at) each = 0;
  }
};

// Calls `f` with the place of each of the lane's elements in WarpTile::at, its row and column, and the place of its row's number in
// WarpRows::at.
template <class F> EVERYWHERE void each_element(int lane, const F& f) {
#if defined(__CUDA_ARCH__)
  WHOLLY_UNROLLED
  for (int i = 0; i < 8; ++i) f(i, TileSum::row(lane, i), TileSum::column(lane, i), i / 2 % 2);
#else
  for (int i = 0; lane == 0 && i < kTile * kTile; ++i) f(i, i / kTile, i % kTile, i / kTile);
#endif
}

// The same of each pair of neighbours in a row: the place, the row and the column of the first.
template <class F> EVERYWHERE void each_pair(int lane, const F& f) {
#if defined(__CUDA_ARCH__)
  WHOLLY_UNROLLED
  for (int i = 0; i < 8; i += 2) f(i, TileSum::row(lane, i), TileSum::column(lane, i), i / 2 % 2);
#else
  for (int i = 0; lane == 0 && i < kTile * kTile; i += 2) f(i, i / kTile, i % kTile, i / kTile);
#endif
}

// A tile, rounded, as the left operand of a product.
class RoundedTile {
 public:
#if defined(__CUDA_ARCH__)
  // A lane's elements of a sum are those that it has of a left operand, in the same order.
  EVERYWHERE RoundedTile(const WarpTile& tile, int) {
    WHOLLY_UNROLLED
    for (int i = 0; i < 4; ++i)
      word[i] = static_cast<uint32_t>(Bf16(tile.at[2 * i]).bits) | static_cast<uint32_t>(Bf16(tile.at[2 * i + 1]).bits) << 16;
  }
  uint32_t word[4];
#else
  RoundedTile(const WarpTile& tile, int lane) {
    for (int i = 0; lane == 0 && i < kTile * kTile; ++i) at_[i] = Bf16(tile.at[i]);
  }
  float element(int row, int column) const { return at_[row * kTile + column]; }

 private:
  Bf16 at_[kTile * kTile];
#endif
};

template <class Left, class Right> EVERYWHERE void add_product(WarpTile& sum, const Left& left, const Right& right, int lane) {
#if defined(__CUDA_ARCH__)
  multiply_tiles(sum.at, left.word, right.word);
#else
  for (int i = 0; lane == 0 && i < kTile * kTile; ++i)
    for (int k = 0; k < kTile; ++k) sum.at[i] += left.element(i / kTile, k) * right.element(k, i % kTile);
#endif
}

}  // namespace arbalest::cuda
