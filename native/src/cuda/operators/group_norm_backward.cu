// With g = (gy + gy2) masked by 0 < y < most, xhat = (x - mean) * inverse and M elements a group: of each channel ggamma = sum g * xhat and
// gbeta = sum g; gx = inverse * (g * gamma - sum(g * gamma) / M - xhat * sum(g * gamma * xhat) / M), summed over the group. Four kernels:
// the sums of each channel in each chunk of an image's pixels, from these the numbers of each group and the gradients of gamma and beta,
// then gx.
#include "cuda/launch.h"
#include "cuda/operators/batch_norm_gradients.h"
#include "cuda/operators/group_norm.h"
#include "cuda/reduction.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct ChunkSums {
  using Sum = TwoSums<V>;

  GradientOperands<T, V> operands;
  const T* gy;                    // (N, H, W, C)
  const float *means, *inverses;  // (N, groups)
  ChunkNumbers chunks;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    const ChannelTiles& tiles = chunks.tiles;
    const int64_t tile = chunks.tile(block), image = chunks.image(block);
    const int pack = tiles.pack(tile, thread);
    Sum found{};
    if (pack >= tiles.packs) return found;
    float mean[V];
    for (int v = 0; v < V; ++v) mean[v] = means[chunks.norm.of(image, pack * V + v)];
    UNROLLED(4)
    for (int row = tiles.first_row(tile, thread); row < tiles.end_row(tile); row += tiles.row_step()) {
      const int64_t at = (image * tiles.rows + row) * tiles.packs + pack;
      const auto values = operands.load(at);
      const Pack<float, V> g = operands.masked(read<T, V>(gy, at), values);
      for (int v = 0; v < V; ++v) {
        found.sum[v] += g.at[v];
        found.product[v] += g.at[v] * (float(values.x.at[v]) - mean[v]);
      }
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int64_t tile = chunks.tile(block), image = chunks.image(block);
    const int pack = chunks.tiles.pack(tile, lane);
    if (pack >= chunks.tiles.packs) return;
    float* const to = chunks.at(image, chunks.tiles.chunk(tile), pack * V);
    for (int v = 0; v < V; ++v) {
      to[2 * v] = sum.sum[v];
      to[2 * v + 1] = sum.product[v] * inverses[chunks.norm.of(image, pack * V + v)];
    }
  }
};

// A row is a group of one image: the chunks of its channels.
struct GroupSums {
  using Sum = TwoSums<1>;

  ChunkNumbers chunks;
  const float* gamma;  // (C)
  float* numbers;      // (N, groups, 2), of the mean element

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    const int size = chunks.norm.size;
    Sum found{};
    for (int p = lane; p < chunks.tiles.chunks * size; p += lanes) {
      const int channel = static_cast<int>(row % chunks.norm.groups) * size + p % size;
      const float* const of = chunks.at(row / chunks.norm.groups, p / size, channel);
      found.sum[0] += gamma[channel] * of[0];
      found.product[0] += gamma[channel] * of[1];
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t row, int lane, int, const Sum& all) const {
    if (lane != 0) return;
    numbers[2 * row] = all.sum[0] / chunks.norm.elements();
    numbers[2 * row + 1] = all.product[0] / chunks.norm.elements();
  }
};

// A row is a channel: its chunks in all images.
struct ChannelSums {
  using Sum = TwoSums<1>;

  ChunkNumbers chunks;
  float *ggamma, *gbeta;  // (C)

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    Sum found{};
    for (int p = lane; p < chunks.norm.images * chunks.tiles.chunks; p += lanes) {
      const float* const of = chunks.at(p / chunks.tiles.chunks, p % chunks.tiles.chunks, static_cast<int>(row));
      found.sum[0] += of[0];
      found.product[0] += of[1];
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }

  EVERYWHERE void finish(int64_t row, int lane, int, const Sum& all) const {
    if (lane != 0) return;
    ggamma[row] = all.product[0];
    gbeta[row] = all.sum[0];
  }
};

template <class T, int V> struct GroupNormBackward {
  GradientOperands<T, V> operands;
  const T* gy;                    // (N, H, W, C)
  const float* gamma;             // (C)
  const float *means, *inverses;  // (N, groups)
  const float* numbers;           // (N, groups, 2)
  T* gx;                          // (N, H, W, C) or null; may be gy
  T* gresidual;                   // (N, H, W, C) or null; may be gy2
  NormGroups norm;
  PixelsOfThreads threads;

  EVERYWHERE void operator()(int64_t i) const {
    const int channel = threads.pack(i) * V;
    float mean[V], inverse[V], scale[V], sum[V], product[V];
    for (int v = 0; v < V; ++v) {
      const int64_t group = norm.of(threads.image(i), channel + v);
      mean[v] = means[group];
      inverse[v] = inverses[group];
      scale[v] = gamma[channel + v];
      sum[v] = numbers[2 * group];
      product[v] = numbers[2 * group + 1];
    }
    for (int pixel = threads.first(i); pixel < threads.pixels; pixel += threads.step) {
      const int64_t at = threads.at(i, pixel);
      const auto values = operands.load(at);
      const Pack<float, V> g = operands.masked(read<T, V>(gy, at), values);
      if (gresidual) write(gresidual, at, rounded<T>(g));
      if (!gx) continue;
      Pack<T, V> result;
      for (int v = 0; v < V; ++v) {
        const float normalised = (float(values.x.at[v]) - mean[v]) * inverse[v];
        result.at[v] = T(inverse[v] * (scale[v] * g.at[v] - sum[v] - normalised * product[v]));
      }
      write(gx, at, result);
    }
  }
};

MadeKernel make_group_norm_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const NormGroups norm(spec.inputs[0].shape(), spec.attributes);
  return by_packs(spec.precision, norm.channels(), [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    const int packs = norm.channels() / V;
    const Bounds bounds(spec.attributes);
    const GradientOperands<T, V> operands{spec.inputs[0].as<T>(), bounds.relu ? spec.inputs[4].as<T>() : nullptr, spec.inputs[6].as<T>(),
                                          nullptr, bounds};
    const T* const gy = spec.inputs[5].as<T>();
    const float *gamma = spec.inputs[1].as<float>(), *means = spec.inputs[2].as<float>(), *inverses = spec.inputs[3].as<float>();
    const ChunkNumbers chunks{static_cast<float*>(spec.scratch), ChannelTiles(norm.pixels, packs, norm.most_chunks()), norm};
    float* const numbers = chunks.at(norm.images, 0, 0);
    const ChunkSums<T, V> sums{operands, gy, means, inverses, chunks, chunks.tiles.lanes};
    const GroupSums groups{chunks, gamma, numbers};
    const ChannelSums channels{chunks, spec.outputs[1].as<float>(), spec.outputs[2].as<float>()};
    const GroupNormBackward<T, V> backward{operands,
                                           gy,
                                           gamma,
                                           means,
                                           inverses,
                                           numbers,
                                           spec.outputs[0].as<T>(),
                                           spec.outputs[3].as<T>(),
                                           norm,
                                           PixelsOfThreads(packs, norm.pixels)};
    return queued([&stream, sums, groups, channels, backward, norm] {
      reduce(stream, sums.chunks.blocks(), sums);
      reduce_rows(stream, norm.all(), sums.chunks.tiles.chunks * norm.size, groups);
      reduce_rows(stream, norm.channels(), norm.images * sums.chunks.tiles.chunks, channels);
      if (backward.gx || backward.gresidual) each(stream, backward.threads.threads(norm.images), backward);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"groupNormBackward",
     {image, wide, wide, wide, image, image, image},
     {image, wide, wide, image},
     make_group_norm_backward,
     {{0, 5}, {3, 6}},
     group_norm_scratch},
}};

}  // namespace
}  // namespace arbalest::cuda
