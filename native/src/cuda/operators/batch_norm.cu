// Batch norm over (N, C, H, W) with residual sum and ReLU: Ioffe and Szegedy, "Batch normalization", ICML 2015. One kernel where it is
// given partial sums, or by clusters where they take it, otherwise two: moments of each chunk of rows, then in every block those of
// its channels from the chunks', and y.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/batch_norm_numbers.h"
#include "cuda/operators/batch_norm_of_clusters.h"
#include "cuda/operators/batch_norm_of_partial_sums.h"
#include "cuda/operators/bounds.h"
#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/moments.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct ChunkMoments {
  using Sum = Moments<V>;

  const T* x;       // (rows, C)
  float* partials;  // (chunks, C, 2)
  ChannelTiles tiles;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    const int pack = tiles.pack(block, thread);
    if (pack >= tiles.packs) return {};
    return Sum::of_rows(x + pack * V, tiles.packs, tiles.first_row(block, thread), tiles.end_row(block), tiles.row_step());
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int pack = tiles.pack(block, lane);
    if (pack >= tiles.packs) return;
    float* to = partials + (static_cast<int64_t>(tiles.chunk(block)) * tiles.packs + pack) * V * 2;
    for (int v = 0; v < V; ++v) {
      to[2 * v] = sum.mean[v];
      to[2 * v + 1] = sum.squares[v] < 0 ? 0 : sum.squares[v];
    }
  }
};

template <class T, int V> struct Normalise {
  static constexpr int kPhases = 4;
  // The block's channels, up to 32 packs; and each thread's summands of a channel's mean and squares.
  struct Shared {
    NormNumbers<32 * V> numbers;
    float weighted[kThreads], squares[kThreads];
  };

  const T* x;              // (rows, C)
  const T* residual;       // (rows, C) or null
  T* y;                    // (rows, C); may be x or residual
  const float* gamma;      // (C)
  const float* beta;       // (C)
  const float* partials;   // (chunks, C, 2)
  float *mean, *variance;  // (C) or null
  ChannelTiles tiles, chunks;
  PartialShares shares;
  float epsilon;
  Bounds bounds;

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int pack = tiles.pack(block, thread), c = tiles.first_pack(block) * V + shares.channel(thread);
    if (phase < 3 && (!shares.has(thread) || c >= tiles.packs * V)) return;
    if (phase == 0) {
      weigh(c, thread, shared);
    } else if (phase == 1) {
      deviate(c, thread, shared);
    } else if (phase == 2) {
      if (shares.share(thread) == 0) settle(block, c, shares.channel(thread), shared);
    } else if (pack < tiles.packs) {
      for (int row = tiles.first_row(block, thread); row < tiles.end_row(block); row += tiles.row_step())
        apply(static_cast<int64_t>(row) * tiles.packs + pack, thread % tiles.lanes, shared);
    }
  }

 private:
  EVERYWHERE const float* partial(int chunk, int c) const { return partials + (static_cast<int64_t>(chunk) * tiles.packs * V + c) * 2; }

  EVERYWHERE void weigh(int c, int thread, Shared& shared) const {
    float sum = 0;
    for (int k = shares.share(thread); k < chunks.chunks; k += shares.threads)
      sum += partial(k, c)[0] * (static_cast<float>(chunks.rows_of(k)) / static_cast<float>(chunks.rows));
    shared.weighted[thread] = sum;
  }

  EVERYWHERE void deviate(int c, int thread, Shared& shared) const {
    const float centre = shares.sum(shared.weighted, shares.channel(thread));
    float sum = 0;
    for (int k = shares.share(thread); k < chunks.chunks; k += shares.threads) {
      const float step = partial(k, c)[0] - centre;
      sum += partial(k, c)[1] + step * step * static_cast<float>(chunks.rows_of(k));
    }
    shared.squares[thread] = sum;
  }

  EVERYWHERE void settle(int64_t block, int c, int at, Shared& shared) const {
    const float centre = shares.sum(shared.weighted, at);
    const float spread = shares.sum(shared.squares, at) / static_cast<float>(chunks.rows);
    shared.numbers.set(at, centre, spread, epsilon, gamma[c], beta[c]);
    if (tiles.chunk(block) != 0) return;
    if (mean) mean[c] = centre;
    if (variance) variance[c] = spread;
  }

  EVERYWHERE void apply(int64_t i, int lane, const Shared& shared) const {
    const Pack<T, V> values = read<T, V>(x, i), added = residual ? read<T, V>(residual, i) : Pack<T, V>{};
    write(y, i, shared.numbers.apply(values, residual != nullptr, added, lane * V, bounds));
  }
};

MadeKernel make_batch_norm(const OperatorSpec& spec, DeviceStream& stream) {
  if (auto kernel = make_batch_norm_of_partial_sums(spec, stream)) return kernel;
  if (auto kernel = make_batch_norm_of_clusters(spec, stream)) return kernel;
  const Image image(spec.inputs[0].shape());
  return by_packs(spec.precision, image.c, [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    const ChannelTiles chunks(image.rows(), image.c / V, kMostPartials), tiles(image.rows(), image.c / V, 256);
    auto* const partials = static_cast<float*>(spec.scratch);
    const ChunkMoments<T, V> moments{spec.inputs[0].as<T>(), partials, chunks, chunks.lanes};
    const Normalise<T, V> normalise{spec.inputs[0].as<T>(),
                                    spec.inputs[3].as<T>(),
                                    spec.outputs[0].as<T>(),
                                    spec.inputs[1].as<float>(),
                                    spec.inputs[2].as<float>(),
                                    partials,
                                    spec.outputs[1].as<float>(),
                                    spec.outputs[2].as<float>(),
                                    tiles,
                                    chunks,
                                    PartialShares(tiles.lanes * V),
                                    static_cast<float>(spec.attributes.number("epsilon")),
                                    Bounds(spec.attributes)};
    return queued([&stream, moments, normalise] {
      reduce(stream, moments.tiles.blocks(), moments);
      blocks(stream, normalise.tiles.blocks(), normalise);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"batchNorm",
     {image, wide, wide, image, wide},
     {image, wide, wide},
     make_batch_norm,
     {{0, 0}, {0, 3}},
     by_first_input<batch_norm_scratch>},
}};

}  // namespace
}  // namespace arbalest::cuda
