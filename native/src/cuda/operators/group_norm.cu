// Group norm over (N, C, H, W) with residual sum and ReLU: Wu and He, "Group normalization", ECCV 2018. Three kernels: the moments of each
// channel in each chunk of an image's pixels, from these the numbers of each group, then y.
#include <cmath>

#include "cuda/launch.h"
#include "cuda/operators/bounds.h"
#include "cuda/operators/group_norm.h"
#include "cuda/operators/moments.h"
#include "cuda/reduction.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct ChunkMoments {
  using Sum = Moments<V>;

  const T* x;  // (N, H, W, C)
  ChunkNumbers chunks;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    const ChannelTiles& tiles = chunks.tiles;
    const int64_t tile = chunks.tile(block);
    const int pack = tiles.pack(tile, thread);
    if (pack >= tiles.packs) return {};
    const T* own = x + (chunks.image(block) * tiles.rows * tiles.packs + pack) * V;
    return Sum::of_rows(own, tiles.packs, tiles.first_row(tile, thread), tiles.end_row(tile), tiles.row_step());
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int64_t tile = chunks.tile(block);
    const int pack = chunks.tiles.pack(tile, lane);
    if (pack >= chunks.tiles.packs) return;
    float* const to = chunks.at(chunks.image(block), chunks.tiles.chunk(tile), pack * V);
    for (int v = 0; v < V; ++v) {
      to[2 * v] = sum.mean[v];
      to[2 * v + 1] = sum.squares[v];
    }
  }
};

// A row is a group of one image: the chunks of its channels.
struct GroupMoments {
  using Sum = Moments<1>;

  ChunkNumbers chunks;
  float* numbers;           // (N, groups, 2)
  float *means, *inverses;  // (N, groups) or null
  float epsilon;

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    const int size = chunks.norm.size;
    Sum found{};
    for (int p = lane; p < chunks.tiles.chunks * size; p += lanes) {
      const int chunk = p / size, channel = static_cast<int>(row % chunks.norm.groups) * size + p % size;
      const float* const of = chunks.at(row / chunks.norm.groups, chunk, channel);
      found = found + Sum{static_cast<float>(chunks.tiles.rows_of(chunk)), {of[0]}, {of[1]}};
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t row, int lane, int, const Sum& all) const {
    if (lane != 0) return;
    const float variance = all.squares[0] / all.count, inverse = 1 / sqrtf((variance < 0 ? 0 : variance) + epsilon);
    numbers[2 * row] = all.mean[0];
    numbers[2 * row + 1] = inverse;
    if (means) means[row] = all.mean[0];
    if (inverses) inverses[row] = inverse;
  }
};

template <class T, int V> struct Normalise {
  const T* x;            // (N, H, W, C)
  const T* residual;     // (N, H, W, C) or null
  T* y;                  // (N, H, W, C); may be x or residual
  const float* gamma;    // (C)
  const float* beta;     // (C)
  const float* numbers;  // (N, groups, 2)
  NormGroups norm;
  PixelsOfThreads threads;
  Bounds bounds;

  EVERYWHERE void operator()(int64_t i) const {
    const int channel = threads.pack(i) * V;
    float mean[V], scale[V], shift[V];
    for (int v = 0; v < V; ++v) {
      const float* const of = numbers + 2 * norm.of(threads.image(i), channel + v);
      mean[v] = of[0];
      scale[v] = of[1] * gamma[channel + v];
      shift[v] = beta[channel + v];
    }
    UNROLLED(4)
    for (int pixel = threads.first(i); pixel < threads.pixels; pixel += threads.step) {
      const int64_t at = threads.at(i, pixel);
      const Pack<T, V> values = read<T, V>(x, at), added = residual ? read<T, V>(residual, at) : Pack<T, V>{};
      Pack<T, V> result;
      for (int v = 0; v < V; ++v) {
        float value = (float(values.at[v]) - mean[v]) * scale[v] + shift[v];
        if (residual) value += float(added.at[v]);
        result.at[v] = T(bounds.within(value));
      }
      write(y, at, result);
    }
  }
};

MadeKernel make_group_norm(const OperatorSpec& spec, DeviceStream& stream) {
  const NormGroups norm(spec.inputs[0].shape(), spec.attributes);
  return by_packs(spec.precision, norm.channels(), [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    const int packs = norm.channels() / V;
    const ChunkNumbers chunks{static_cast<float*>(spec.scratch), ChannelTiles(norm.pixels, packs, norm.most_chunks()), norm};
    float* const numbers = chunks.at(norm.images, 0, 0);
    const ChunkMoments<T, V> moments{spec.inputs[0].as<T>(), chunks, chunks.tiles.lanes};
    const GroupMoments groups{chunks, numbers, spec.outputs[1].as<float>(), spec.outputs[2].as<float>(),
                              static_cast<float>(spec.attributes.number("epsilon"))};
    const Normalise<T, V> normalise{spec.inputs[0].as<T>(),
                                    spec.inputs[3].as<T>(),
                                    spec.outputs[0].as<T>(),
                                    spec.inputs[1].as<float>(),
                                    spec.inputs[2].as<float>(),
                                    numbers,
                                    norm,
                                    PixelsOfThreads(packs, norm.pixels),
                                    Bounds(spec.attributes)};
    return queued([&stream, moments, groups, normalise, norm] {
      reduce(stream, moments.chunks.blocks(), moments);
      reduce_rows(stream, norm.all(), moments.chunks.tiles.chunks * norm.size, groups);
      each(stream, normalise.threads.threads(norm.images), normalise);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"groupNorm", {image, wide, wide, image}, {image, wide, wide}, make_group_norm, {{0, 0}, {0, 3}}, group_norm_scratch},
}};

}  // namespace
}  // namespace arbalest::cuda
