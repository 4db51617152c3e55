// Self-attention of one head by tiles in shared memory: what its forward kernel and those of its gradient share. A block has some places of
// one head of one sequence, 16 for each warp, and passes over all places that they see, a stage of a few at a time.
#pragma once

#include <type_traits>

#include "cuda/launch.h"
#include "cuda/operators/heads.h"
#include "cuda/operators/row_tiles.h"
#include "cuda/operators/sequence_length.h"
#include "cuda/warp_tile.h"

namespace arbalest::cuda {

inline constexpr float kLog2e = 1.44269504f;

// Places of a block.
inline constexpr int kPlaces = kWarps * kTile;

// Features of a head in (N, T, parts, heads, width).
struct Features {
  const Bf16* data;
  int parts, part;

  EVERYWHERE int64_t at(const Heads& of, int sequence, int head, int t) const {
    return (((static_cast<int64_t>(sequence) * of.length + t) * parts + part) * of.heads + head) * of.width;
  }
};

// The places of one block.
struct HeadPlaces {
  int sequence, head;
  int first;  // of the block
  int count;  // of the sequence: those behind are neither read nor seen

  // Blocks of the same place in their sequences follow each other, so that the longest ones, with `backwards` the last ones, begin first.
  EVERYWHERE HeadPlaces(const Heads& of, const float* lengths, int64_t block, bool backwards) {
    const int matrices = of.sequences * of.heads, blocks = (of.length + kPlaces - 1) / kPlaces;
    const int tile = static_cast<int>(block / matrices), matrix = static_cast<int>(block % matrices);
    first = (backwards ? blocks - 1 - tile : tile) * kPlaces;
    sequence = matrix / of.heads;
    head = matrix % of.heads;
    count = static_cast<int>(places_of(lengths, sequence, of.length));
  }
  static int64_t blocks(const Heads& of) { return of.matrices() * ((of.length + kPlaces - 1) / kPlaces); }

  EVERYWHERE int64_t row(const Heads& of, int t) const { return (static_cast<int64_t>(sequence) * of.heads + head) * of.length + t; }
};

// Lines of W features in shared memory, where heads are narrower with zeros behind them.
template <int W> struct HeadLines {
  static constexpr int kLine = W + kGap;

  // `lines` places of `one` from `first` on, and behind them those of `other`, if it has data; what does not count is zeros, for zero times
  // NaN is NaN.
  EVERYWHERE static void begin_copies(const Features& one, const Features& other, const Heads& of, const HeadPlaces& places, int first,
                                      int lines, Bf16* to, int thread) {
    constexpr int kPacks = W / 8;
    const int all = other.data ? 2 * lines : lines;
    // Registers are for sums.
    UNROLLED(1)
    for (int i = thread; i < all * kPacks; i += kThreads) {
      const int pack = i % kPacks, line = i / kPacks, t = first + line % lines;
      const Features from = line < lines ? one : other;
      const bool present = t < places.count && pack * 8 < of.width;
      const int64_t at = present ? from.at(of, places.sequence, places.head, t) + pack * 8 : 0;
      begin_copy(to + line * kLine + pack * 8, from.data + at, present);
    }
  }

  // 16 lines from `first` on, as the left operand, whose rows they are.
  EVERYWHERE static auto left(const Bf16* lines, int first, int lane) {
    return TileLines<Operand::left, Lines::rows>([&](int i) { return lines + (first + i) * kLine; }, lane);
  }
  // As the right one: its rows, or its columns.
  template <Lines kAs> EVERYWHERE static auto right(const Bf16* lines, int first, int lane) {
    return TileLines<Operand::right, kAs>([&](int i) { return lines + (first + i) * kLine; }, lane);
  }

  // The sums of a warp's 16 places from `first` on, each row times its factor.
  EVERYWHERE static void write_rows(const WarpTile (&sums)[W / kTile], const WarpRows& factors, const Heads& of, const HeadPlaces& places,
                                    int first, Bf16* to, int parts, int part, int lane) {
    int64_t rows[WarpRows::kRows];
    each_pair(lane, [&](int, int row, int, int r) {
      rows[r] = Features{to, parts, part}.at(of, places.sequence, places.head, first + row);
    });
    WHOLLY_UNROLLED
    for (int column = 0; column < W; column += kTile)
      each_pair(lane, [&](int i, int row, int c, int r) {
        if (first + row >= of.length || column + c >= of.width) return;
        const WarpTile& sum = sums[column / kTile];
        const Pack<Bf16, 2> pair{{Bf16(sum.at[i] * factors.at[r]), Bf16(sum.at[i + 1] * factors.at[r])}};
        write(to, (rows[r] + column + c) / 2, pair);
      });
  }
};

// Calls `make` with the width of the lines that hold a head's.
template <class Make> MadeKernel by_head_width(int width, Make&& make) {
  if (width <= 16) return make(std::integral_constant<int, 16>{});
  if (width <= 32) return make(std::integral_constant<int, 32>{});
  if (width <= 64) return make(std::integral_constant<int, 64>{});
  return make(std::integral_constant<int, 128>{});
}

}  // namespace arbalest::cuda
