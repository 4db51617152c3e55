// Images in pieces of some whole rows, as convolutions by tiles have them in shared memory.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/launch.h"
#include "cuda/table.h"
#include "cuda/tile_product.h"

namespace arbalest::cuda {

inline constexpr int kTaps = 9, kWarps = kThreads / 32;
// Between neighbouring lines in shared memory: eight lines then lie in banks of their own.
inline constexpr int kGap = 8;

// Some whole rows of an output image, and the input rows that they are computed from, with a border of zeros. A spread input has a zero
// after each row and each column: a convolution of it is the gradient of one of stride 2.
struct RowTiles {
  Image in, out;
  int stride;
  int spread;     // 1 if the input is spread, else 0
  int rows;       // of the output, in a tile
  int per_image;  // tiles

  // At most `pixels` outputs a tile, or one row.
  RowTiles(const Image& in_, const Image& out_, int stride_, int spread_, int pixels)
      : in(in_), out(out_), stride(stride_), spread(spread_) {
    rows = std::clamp(pixels / out.w, 1, out.h);
    per_image = (out.h + rows - 1) / rows;
  }

  EVERYWHERE int count() const { return out.n * per_image; }
  EVERYWHERE int groups() const { return (rows * out.w + kTile - 1) / kTile; }
  EVERYWHERE int width() const { return (in.w << spread) + 2; }
  EVERYWHERE int height() const { return (rows - 1) * stride + 3; }
  // In shared memory, of the input.
  EVERYWHERE int line() const { return in.c + kGap; }
  EVERYWHERE int elements() const { return height() * width() * line(); }
  EVERYWHERE int tap(int t) const { return (t / 3 * width() + t % 3) * line(); }

  // Where the tap (0, 0) of each of the tile's pixels lies there, by the block's threads; of what is no pixel, that of the first.
  EVERYWHERE void find_places(int* places, int thread) const {
    for (int pixel = thread; pixel < groups() * kTile; pixel += kThreads) {
      const int at = pixel < rows * out.w ? pixel : 0;
      places[pixel] = (at / out.w * stride * width() + at % out.w * stride) * line();
    }
  }

  // A row a warp. kMaySpread: whether the input can be spread.
  template <int C, bool kMaySpread> EVERYWHERE void begin_copies(const Bf16* x, int tile, Bf16* to, int thread) const {
    constexpr int kPacks = C / 8;
    const int zeros = kMaySpread ? spread : 0;
    const int image = tile / per_image, top = tile % per_image * rows * stride - 1;
    for (int line_ = thread / 32; line_ < height(); line_ += kWarps) {
      const int row = top + line_;
      const bool inside = row >= 0 && row < in.h << zeros && (row & zeros) == 0;
      const Bf16* const from = x + in.at(image, inside ? row >> zeros : 0, 0, 0);
      for (int i = thread % 32; i < width() * kPacks; i += 32) {
        const int pack = i % kPacks, column = i / kPacks - 1;
        const bool present = inside && column >= 0 && column < in.w << zeros && (column & zeros) == 0;
        begin_copy(to + (line_ * width() + column + 1) * (C + kGap) + pack * 8, present ? from + (column >> zeros) * C + pack * 8 : x,
                   present);
      }
    }
  }
};

// The output pixels of a tile, which lie one behind the other.
struct Pixels {
  int64_t first;
  int count;

  EVERYWHERE Pixels(const RowTiles& tiles, int tile) {
    const int row = tile % tiles.per_image * tiles.rows, left = tiles.out.h - row;
    first = (static_cast<int64_t>(tile / tiles.per_image) * tiles.out.h + row) * tiles.out.w;
    count = (left < tiles.rows ? left : tiles.rows) * tiles.out.w;
  }
};

// The numbers of channels of which there are kernels.
inline bool has_tiles(int64_t channels) { return channels == 16 || channels == 32 || channels == 64; }

// Calls `make` with the number of channels, which has tiles.
template <class Make> auto by_channels(int64_t channels, Make&& make) {
  if (channels == 16) return make(std::integral_constant<int, 16>{});
  if (channels == 32) return make(std::integral_constant<int, 32>{});
  return make(std::integral_constant<int, 64>{});
}

// The program of the largest tiles, up to `most` pixels, of which `program_of` makes one that a block's shared memory holds.
template <class ProgramOf>
auto with_largest_tiles(int most, const Image& in, const Image& out, int stride, int spread, const ProgramOf& program_of) {
  for (int pixels = most;; pixels /= 2) {
    const auto program = program_of(RowTiles(in, out, stride, spread, pixels));
    if (pixels == 1 || program.shared_bytes() <= kMostClusterShared) return program;
  }
}

}  // namespace arbalest::cuda
