// Each channel of an image by a number of its own: x (N, C, H, W) and factors (N, C), as squeeze-and-excitation has it (Hu et al., CVPR
// 2018).
#include "cuda/launch.h"
#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> EVERYWHERE Pack<T, V> scaled(const Pack<T, V>& values, const Pack<T, V>& factors) {
  Pack<T, V> products;
  for (int v = 0; v < V; ++v) products.at[v] = T(float(values.at[v]) * float(factors.at[v]));
  return products;
}

template <class T, int V> struct ScaleChannels {
  const T* x;        // (N, H, W, C)
  const T* factors;  // (N, C)
  T* y;              // (N, H, W, C); may be x
  int packs;         // of channels
  int pixels;

  EVERYWHERE void operator()(int64_t i) const {
    write(y, i, scaled(read<T, V>(x, i), read<T, V>(factors, i / packs / pixels * packs + i % packs)));
  }
};

// gx = gy * factors, and the sums of gy * x over a chunk of an image's pixels.
template <class T, int V> struct ChunkProducts {
  using Sum = Pack<float, V>;

  const T* x;          // (N, H, W, C)
  const T* factors;    // (N, C)
  const T* gy;         // (N, H, W, C)
  T* gx;               // (N, H, W, C) or null; may be gy
  float* partials;     // (N, chunks, C)
  ChannelTiles tiles;  // of one image
  int lanes;

  EVERYWHERE int64_t image(int64_t block) const { return block / tiles.blocks(); }
  EVERYWHERE Sum partial(int64_t block, int thread) const {
    Sum found{};
    const int64_t tile = block % tiles.blocks();
    const int pack = tiles.pack(tile, thread);
    if (pack >= tiles.packs) return found;
    const Pack<T, V> scales = read<T, V>(factors, image(block) * tiles.packs + pack);
    for (int row = tiles.first_row(tile, thread); row < tiles.end_row(tile); row += tiles.row_step()) {
      const int64_t at = (image(block) * tiles.rows + row) * tiles.packs + pack;
      const Pack<T, V> gradients = read<T, V>(gy, at), values = read<T, V>(x, at);
      for (int v = 0; v < V; ++v) found.at[v] += float(gradients.at[v]) * float(values.at[v]);
      if (gx) write(gx, at, scaled(gradients, scales));
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) {
    Sum both;
    for (int v = 0; v < V; ++v) both.at[v] = left.at[v] + right.at[v];
    return both;
  }
  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int64_t tile = block % tiles.blocks();
    const int pack = tiles.pack(tile, lane);
    if (pack < tiles.packs) write(partials, (image(block) * tiles.chunks + tiles.chunk(tile)) * tiles.packs + pack, sum);
  }
};

template <class T> struct SumOfChunks {
  const float* partials;  // (N, chunks, C)
  T* gfactors;            // (N, C)
  int chunks, channels;

  EVERYWHERE void operator()(int64_t i) const {
    const float* own = partials + i / channels * chunks * channels + i % channels;
    float sum = 0;
    for (int k = 0; k < chunks; ++k) sum += own[static_cast<int64_t>(k) * channels];
    gfactors[i] = T(sum);
  }
};

// An image has at most this many chunks. Each thread then takes several pixels.
int most_chunks(const Image& image) { return std::clamp(image.h * image.w / 32, 1, kMostPartials); }

size_t scratch(const Shape& x) {
  const Image image(x);
  return static_cast<size_t>(image.n) * static_cast<size_t>(most_chunks(image)) * static_cast<size_t>(image.c) * sizeof(float);
}

MadeKernel make_scale_channels(const OperatorSpec& spec, DeviceStream& stream) {
  const Image image(spec.inputs[0].shape());
  return by_packs(spec.precision, image.c, [&]<class P>(P) {
    using T = typename P::T;
    const ScaleChannels<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>(), image.c / P::V,
                                         image.h * image.w};
    return queued([&stream, program, n = image.elements() / P::V] { each(stream, n, program); });
  });
}

MadeKernel make_scale_channels_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image image(spec.inputs[0].shape());
  const int pixels = image.h * image.w;
  return by_packs(spec.precision, image.c, [&]<class P>(P) -> MadeKernel {
    using T = typename P::T;
    constexpr int V = P::V;
    const T *x = spec.inputs[0].as<T>(), *factors = spec.inputs[1].as<T>(), *gy = spec.inputs[2].as<T>();
    T* const gx = spec.outputs[0].as<T>();
    if (spec.outputs.size() < 2 || !spec.outputs[1]) {
      const ScaleChannels<T, V> program{gy, factors, gx, image.c / V, pixels};
      return queued([&stream, program, n = image.elements() / V] { each(stream, n, program); });
    }
    auto* const partials = static_cast<float*>(spec.scratch);
    const ChannelTiles tiles(pixels, image.c / V, most_chunks(image));
    const ChunkProducts<T, V> products{x, factors, gy, gx, partials, tiles, tiles.lanes};
    const SumOfChunks<T> sums{partials, spec.outputs[1].as<T>(), tiles.chunks, image.c};
    return queued([&stream, products, sums, n = image.n] {
      reduce(stream, n * products.tiles.blocks(), products);
      each(stream, static_cast<int64_t>(n) * sums.channels, sums);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"scaleChannels", {image, image}, {image}, make_scale_channels, {{0, 0}}},
    {"scaleChannelsBackward", {image, image, image}, {image, image}, make_scale_channels_backward, {{0, 2}}, by_first_input<scratch>},
}};

}  // namespace
}  // namespace arbalest::cuda
