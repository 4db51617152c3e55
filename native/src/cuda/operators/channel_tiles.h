// Divides an nhwc image among blocks for work by channel: each block has some neighbouring channels and a chunk of the rows.
#pragma once

#include <algorithm>

#include "cuda/launch.h"
#include "device/backend.h"

namespace arbalest::cuda {

// A row is one pixel's channels; a pack is V channels of it, and `packs` packs are a row.
struct ChannelTiles {
  int rows, packs;
  int lanes;       // packs that a block's threads take side by side: a power of two
  int columns;     // blocks side by side
  int chunk_rows;  // rows of a block
  int chunks;

  // As many chunks as leave each thread a row, but at most `most_chunks`: with fewer chunks, images of small batches would keep only a few
  // multiprocessors busy.
  ChannelTiles(int rows_, int packs_, int most_chunks) : rows(rows_), packs(packs_), lanes(1) {
    while (lanes < packs && lanes < 32) lanes *= 2;
    columns = (packs + lanes - 1) / lanes;
    const int wanted = std::clamp(rows / (kThreads / lanes), 1, most_chunks);
    chunk_rows = (rows + wanted - 1) / wanted;
    chunks = (rows + chunk_rows - 1) / chunk_rows;
  }

  EVERYWHERE int64_t blocks() const { return static_cast<int64_t>(columns) * chunks; }
  EVERYWHERE int chunk(int64_t block) const { return static_cast<int>(block) / columns; }
  EVERYWHERE int first_pack(int64_t block) const { return static_cast<int>(block) % columns * lanes; }
  EVERYWHERE int pack(int64_t block, int thread) const { return first_pack(block) + thread % lanes; }
  EVERYWHERE int first_row(int64_t block, int thread) const { return chunk(block) * chunk_rows + thread / lanes; }
  EVERYWHERE int end_row(int64_t block) const {
    const int end = (chunk(block) + 1) * chunk_rows;
    return end < rows ? end : rows;
  }
  EVERYWHERE int row_step() const { return kThreads / lanes; }
  EVERYWHERE int rows_of(int chunk_) const {
    const int left = rows - chunk_ * chunk_rows;
    return left < chunk_rows ? left : chunk_rows;
  }
};

// The number of partial sums that one kernel leaves to the next, each of whose blocks reads all of them.
inline constexpr int kMostPartials = 32;

// Of the moments of each chunk, forwards and backwards.
inline size_t batch_norm_scratch(const Shape& x) {
  return static_cast<size_t>(kMostPartials) * static_cast<size_t>(x[1]) * 2 * sizeof(float);
}

// Divides the partial sums of a block's channels among its threads: each thread of a channel takes every `threads`-th chunk.
struct PartialShares {
  int channels;  // of a block: a power of two up to kThreads
  int threads;   // a channel

  explicit PartialShares(int channels_) : channels(channels_), threads(std::min(kThreads / channels_, kMostPartials)) {}
  EVERYWHERE int channel(int thread) const { return thread % channels; }
  EVERYWHERE int share(int thread) const { return thread / channels; }
  EVERYWHERE bool has(int thread) const { return share(thread) < threads; }
  // The sum over all threads of a channel of their results in `found`, in the order of their first chunks.
  EVERYWHERE float sum(const float* found, int channel_) const {
    float all = 0;
    for (int k = 0; k < threads; ++k) all += found[k * channels + channel_];
    return all;
  }
};

}  // namespace arbalest::cuda
