// With g = (gy + gy2) masked by 0 < y < most, xhat = (x - mean) / deviation and M rows: ggamma = sum g * xhat, gbeta = sum g,
// gx = gamma / deviation * (g - gbeta / M - xhat * ggamma / M). One kernel where it is given partial sums, or by clusters where they
// take it, otherwise two: the sums of each chunk of rows, then gx.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/batch_norm_gradients.h"
#include "cuda/operators/batch_norm_numbers.h"
#include "cuda/operators/batch_norm_of_clusters.h"
#include "cuda/operators/batch_norm_of_partial_sums.h"
#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct ChunkSums {
  using Sum = TwoSums<V>;

  Gradients<T, V> from;
  float* partials;  // (chunks, C, 2)
  ChannelTiles tiles;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    const int pack = tiles.pack(block, thread);
    if (pack >= tiles.packs) return {};
    return from.sums_of_rows(pack, tiles.packs, tiles.first_row(block, thread), tiles.end_row(block), tiles.row_step());
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int pack = tiles.pack(block, lane);
    if (pack >= tiles.packs) return;
    float* to = partials + (static_cast<int64_t>(tiles.chunk(block)) * tiles.packs + pack) * V * 2;
    for (int v = 0; v < V; ++v) {
      to[2 * v] = sum.sum[v];
      to[2 * v + 1] = sum.product[v] * from.inverse(pack * V + v);
    }
  }
};

template <class T, int V> struct BatchNormBackward {
  static constexpr int kPhases = 3;
  // The sums of the block's channels, and each thread's summands.
  struct Shared {
    NormGradientNumbers<32 * V> numbers;
    float sums[kThreads], products[kThreads];
  };

  Gradients<T, V> from;
  const float* partials;  // (chunks, C, 2)
  const float* gamma;     // (C)
  T* gx;                  // (rows, C) or null; may be gy
  T* gresidual;           // (rows, C) or null; may be gy2
  float *ggamma, *gbeta;  // (C)
  ChannelTiles tiles, chunks;
  PartialShares shares;

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int pack = tiles.pack(block, thread), c = tiles.first_pack(block) * V + shares.channel(thread);
    if (phase < 2 && (!shares.has(thread) || c >= tiles.packs * V)) return;
    if (phase == 0) {
      gather(c, thread, shared);
    } else if (phase == 1) {
      if (shares.share(thread) == 0) settle(block, c, shares.channel(thread), shared);
    } else if (pack < tiles.packs) {
      for (int row = tiles.first_row(block, thread); row < tiles.end_row(block); row += tiles.row_step())
        apply(static_cast<int64_t>(row) * tiles.packs + pack, thread % tiles.lanes, shared);
    }
  }

 private:
  EVERYWHERE void gather(int c, int thread, Shared& shared) const {
    float sum = 0, product = 0;
    for (int k = shares.share(thread); k < chunks.chunks; k += shares.threads) {
      const float* partial = partials + (static_cast<int64_t>(k) * tiles.packs * V + c) * 2;
      sum += partial[0];
      product += partial[1];
    }
    shared.sums[thread] = sum;
    shared.products[thread] = product;
  }

  EVERYWHERE void settle(int64_t block, int c, int at, Shared& shared) const {
    const float sum = shares.sum(shared.sums, at), product = shares.sum(shared.products, at);
    shared.numbers.set(at, gamma[c], from.mean(c), from.inverse(c), sum, product, static_cast<float>(chunks.rows));
    if (tiles.chunk(block) != 0) return;
    ggamma[c] = product;
    gbeta[c] = sum;
  }

  EVERYWHERE void apply(int64_t i, int lane, const Shared& shared) const {
    const auto operands = from.operands.load(i);
    const Pack<float, V> g = from.operands.masked(read<T, V>(from.gy, i), operands);
    if (gresidual) write(gresidual, i, rounded<T>(g));
    if (gx) write(gx, i, shared.numbers.apply(operands.x, g, lane * V));
  }
};

MadeKernel make_batch_norm_backward(const OperatorSpec& spec, DeviceStream& stream) {
  if (auto kernel = make_batch_norm_backward_of_partial_sums(spec, stream)) return kernel;
  if (auto kernel = make_batch_norm_backward_of_clusters(spec, stream)) return kernel;
  const Image image(spec.inputs[0].shape());
  return by_packs(spec.precision, image.c, [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    const ChannelTiles chunks(image.rows(), image.c / V, kMostPartials), tiles(image.rows(), image.c / V, 256);
    auto* const partials = static_cast<float*>(spec.scratch);
    const Gradients<T, V> from(spec);
    const ChunkSums<T, V> sums{from, partials, chunks, chunks.lanes};
    const BatchNormBackward<T, V> backward{from,
                                           partials,
                                           spec.inputs[1].as<float>(),
                                           spec.outputs[0].as<T>(),
                                           spec.outputs[3].as<T>(),
                                           spec.outputs[1].as<float>(),
                                           spec.outputs[2].as<float>(),
                                           tiles,
                                           chunks,
                                           PartialShares(tiles.lanes * V)};
    return queued([&stream, sums, backward] {
      reduce(stream, sums.tiles.blocks(), sums);
      blocks(stream, backward.tiles.blocks(), backward);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"batchNormBackward",
     {image, wide, wide, wide, image, image, image, wide},
     {image, wide, wide, image},
     make_batch_norm_backward,
     {{0, 5}, {3, 6}},
     by_first_input<batch_norm_scratch>},
}};

}  // namespace
}  // namespace arbalest::cuda
