#include "cuda/operators/bias.h"

#include "cuda/launch.h"
#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Bias {
  T* y;               // (rows, C)
  const float* bias;  // (C) or null
  int packs;
  bool relu;

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> values = read<T, V>(y, i);
    for (int v = 0; v < V; ++v) {
      float value = float(values.at[v]);
      if (bias) value += bias[i % packs * V + v];
      values.at[v] = T(relu && value < 0 ? 0.0f : value);
    }
    write(y, i, values);
  }
};

template <class T, int V> struct ChunkColumns {
  using Sum = Pack<float, V>;

  const T* gy;      // (rows, C)
  float* partials;  // (chunks, C)
  ChannelTiles tiles;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    Sum found{};
    const int pack = tiles.pack(block, thread);
    if (pack >= tiles.packs) return found;
    for (int row = tiles.first_row(block, thread); row < tiles.end_row(block); row += tiles.row_step()) {
      const Pack<T, V> values = read<T, V>(gy, static_cast<int64_t>(row) * tiles.packs + pack);
      for (int v = 0; v < V; ++v) found.at[v] += float(values.at[v]);
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) {
    Sum both;
    for (int v = 0; v < V; ++v) both.at[v] = a.at[v] + b.at[v];
    return both;
  }
  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int pack = tiles.pack(block, lane);
    if (pack < tiles.packs) write(partials, static_cast<int64_t>(tiles.chunk(block)) * tiles.packs + pack, sum);
  }
};

struct SumOfChunks {
  const float* partials;  // (chunks, C)
  float* sums;            // (C)
  int chunks, channels;

  EVERYWHERE void operator()(int64_t c) const {
    float sum = 0;
    for (int k = 0; k < chunks; ++k) sum += partials[static_cast<int64_t>(k) * channels + c];
    sums[c] = sum;
  }
};

}  // namespace

size_t bias_scratch(int64_t channels) { return static_cast<size_t>(kMostPartials) * static_cast<size_t>(channels) * sizeof(float); }

void queue_bias(const Tensor& y, int64_t channels, const float* bias, bool relu, DeviceStream& stream) {
  if (!bias && !relu) return;
  const int64_t rows = elements_of(y.shape()) / channels;
  by_packs(y.spec.type, channels, [&]<class P>(P) -> MadeKernel {
    const Bias<typename P::T, P::V> program{y.as<typename P::T>(), bias, static_cast<int>(channels / P::V), relu};
    each(stream, rows * channels / P::V, program);
    return nullptr;
  });
}

void queue_bias_gradient(const Tensor& gy, int64_t channels, float* sums, float* partials, DeviceStream& stream) {
  const int64_t rows = elements_of(gy.shape()) / channels;
  by_packs(gy.spec.type, channels, [&]<class P>(P) -> MadeKernel {
    const ChannelTiles tiles(static_cast<int>(rows), static_cast<int>(channels / P::V), kMostPartials);
    reduce(stream, tiles.blocks(), ChunkColumns<typename P::T, P::V>{gy.as<typename P::T>(), partials, tiles, tiles.lanes});
    each(stream, channels, SumOfChunks{partials, sums, tiles.chunks, static_cast<int>(channels)});
    return nullptr;
  });
}

}  // namespace arbalest::cuda
