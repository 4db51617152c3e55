// Each channel of an image times a number of its own, plus another: x (N, C, H, W), scale and shift (C), either of which may be absent.
#include "cuda/launch.h"
#include "cuda/operators/batch_norm_gradients.h"
#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct ChannelAffine {
  const T* x;          // (rows, C)
  const float* scale;  // (C) or null
  const float* shift;  // (C) or null
  T* y;                // (rows, C); may be x
  int packs;           // of channels

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> values = read<T, V>(x, i);
    const int channel = static_cast<int>(i % packs) * V;
    for (int v = 0; v < V; ++v) {
      const float product = scale ? float(values.at[v]) * scale[channel + v] : float(values.at[v]);
      values.at[v] = T(shift ? product + shift[channel + v] : product);
    }
    write(y, i, values);
  }
};

// gx = gy * scale, and the sums of gy and of gy * x over a chunk of the rows.
template <class T, int V> struct ChunkSums {
  using Sum = TwoSums<V>;  // of gy, and of gy * x

  const T* x;          // (rows, C) or null
  const float* scale;  // (C) or null
  const T* gy;         // (rows, C)
  T* gx;               // (rows, C) or null; may be gy
  float* partials;     // (chunks, C, 2)
  ChannelTiles tiles;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    Sum found{};
    const int pack = tiles.pack(block, thread);
    if (pack >= tiles.packs) return found;
    for (int row = tiles.first_row(block, thread); row < tiles.end_row(block); row += tiles.row_step()) {
      const int64_t at = static_cast<int64_t>(row) * tiles.packs + pack;
      Pack<T, V> gradients = read<T, V>(gy, at), values{};
      if (x) values = read<T, V>(x, at);
      for (int v = 0; v < V; ++v) {
        const float gradient = float(gradients.at[v]);
        found.sum[v] += gradient;
        if (x) found.product[v] += gradient * float(values.at[v]);
        if (scale) gradients.at[v] = T(gradient * scale[pack * V + v]);
      }
      if (gx) write(gx, at, gradients);
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return left + right; }
  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int pack = tiles.pack(block, lane);
    if (pack >= tiles.packs) return;
    float* to = partials + (static_cast<int64_t>(tiles.chunk(block)) * tiles.packs + pack) * V * 2;
    for (int v = 0; v < V; ++v) {
      to[2 * v] = sum.sum[v];
      to[2 * v + 1] = sum.product[v];
    }
  }
};

struct SumOfChunks {
  const float* partials;   // (chunks, C, 2)
  float *gscale, *gshift;  // (C) or null
  int chunks, channels;

  EVERYWHERE void operator()(int64_t c) const {
    float sum = 0, product = 0;
    for (int k = 0; k < chunks; ++k) {
      const float* partial = partials + (static_cast<int64_t>(k) * channels + c) * 2;
      sum += partial[0];
      product += partial[1];
    }
    if (gscale) gscale[c] = product;
    if (gshift) gshift[c] = sum;
  }
};

MadeKernel make_channel_affine(const OperatorSpec& spec, DeviceStream& stream) {
  const Image image(spec.inputs[0].shape());
  return by_packs(spec.precision, image.c, [&]<class P>(P) {
    using T = typename P::T;
    const ChannelAffine<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.inputs[2].as<float>(),
                                         spec.outputs[0].as<T>(), image.c / P::V};
    return queued([&stream, program, n = image.elements() / P::V] { each(stream, n, program); });
  });
}

MadeKernel make_channel_affine_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image image(spec.inputs[2].shape());
  return by_packs(spec.precision, image.c, [&]<class P>(P) {
    using T = typename P::T;
    auto* const partials = static_cast<float*>(spec.scratch);
    const ChannelTiles tiles(image.rows(), image.c / P::V, kMostPartials);
    const ChunkSums<T, P::V> sums{
        spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.inputs[2].as<T>(), spec.outputs[0].as<T>(), partials, tiles, tiles.lanes};
    const SumOfChunks total{partials, spec.outputs[1].as<float>(), spec.outputs[2].as<float>(), tiles.chunks, image.c};
    return queued([&stream, sums, total] {
      reduce(stream, sums.tiles.blocks(), sums);
      each(stream, total.channels, total);
    });
  });
}

size_t scratch(const LoweringRequest& request) { return batch_norm_scratch(request.inputs.at(2).shape); }

using enum Port;
const Registered kOperators{{
    {"channelAffine", {image, wide, wide}, {image}, make_channel_affine, {{0, 0}}},
    {"channelAffineBackward", {image, wide, image}, {image, wide, wide}, make_channel_affine_backward, {{0, 2}}, scratch},
}};

}  // namespace
}  // namespace arbalest::cuda
