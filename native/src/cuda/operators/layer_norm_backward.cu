// With g = gy * gamma and xhat = (x - mean) * inverse: ggamma = sum gy * xhat and gbeta = sum gy over the rows, and
// gx = inverse * (g - mean(g) - xhat * mean(g * xhat)), the means over a row. Three kernels: the sums of each chunk of rows, those of all
// chunks, then gx, which may lie where gy does.
#include "cuda/launch.h"
#include "cuda/operators/channel_tiles.h"
#include "cuda/operators/queued.h"
#include "cuda/reduction.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

// The inputs of both kernels over rows.
template <class T, int V> struct NormalisedRows {
  const T* x;             // (N, F)
  const T* gy;            // (N, F)
  const float* means;     // (N)
  const float* inverses;  // (N)
  int packs;              // of a row

  struct Values {
    Pack<T, V> gradients;
    Pack<float, V> normalised;
  };
  EVERYWHERE Values at(int64_t row, int pack) const {
    Values found{read<T, V>(gy, row * packs + pack), {}};
    const Pack<T, V> values = read<T, V>(x, row * packs + pack);
    for (int v = 0; v < V; ++v) found.normalised.at[v] = (float(values.at[v]) - means[row]) * inverses[row];
    return found;
  }
};

template <int V> struct ScaleAndShift { float scale[V], shift[V]; };

template <class T, int V> struct ChunksOfRows {
  using Sum = ScaleAndShift<V>;

  NormalisedRows<T, V> from;
  float* partials;  // (chunks, F, 2)
  ChannelTiles tiles;
  int lanes;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    Sum found{};
    const int pack = tiles.pack(block, thread);
    if (pack >= tiles.packs) return found;
    for (int row = tiles.first_row(block, thread); row < tiles.end_row(block); row += tiles.row_step()) {
      const auto values = from.at(row, pack);
      for (int v = 0; v < V; ++v) {
        found.scale[v] += float(values.gradients.at[v]) * values.normalised.at[v];
        found.shift[v] += float(values.gradients.at[v]);
      }
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) {
    Sum both;
    for (int v = 0; v < V; ++v) {
      both.scale[v] = left.scale[v] + right.scale[v];
      both.shift[v] = left.shift[v] + right.shift[v];
    }
    return both;
  }
  EVERYWHERE void finish(int64_t block, int lane, const Sum& sum) const {
    const int pack = tiles.pack(block, lane);
    if (pack >= tiles.packs) return;
    float* to = partials + (static_cast<int64_t>(tiles.chunk(block)) * tiles.packs + pack) * V * 2;
    for (int v = 0; v < V; ++v) {
      to[2 * v] = sum.scale[v];
      to[2 * v + 1] = sum.shift[v];
    }
  }
};

struct ParameterGradients {
  const float* partials;  // (chunks, F, 2)
  float *ggamma, *gbeta;  // (F)
  int chunks, features;

  EVERYWHERE void operator()(int64_t f) const {
    float scale = 0, shift = 0;
    for (int k = 0; k < chunks; ++k) {
      const float* partial = partials + (static_cast<int64_t>(k) * features + f) * 2;
      scale += partial[0];
      shift += partial[1];
    }
    ggamma[f] = scale;
    gbeta[f] = shift;
  }
};

struct RowSums {
  float plain, normalised;
};

template <class T, int V> struct InputGradients {
  using Sum = RowSums;

  NormalisedRows<T, V> from;
  const float* gamma;  // (F)
  T* gx;               // (N, F); may be gy

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    Sum found{};
    for (int p = lane; p < from.packs; p += lanes) {
      const auto values = from.at(row, p);
      const Pack<float, V> scales = read<float, V>(gamma, p);
      for (int v = 0; v < V; ++v) {
        const float g = float(values.gradients.at[v]) * scales.at[v];
        found.plain += g;
        found.normalised += g * values.normalised.at[v];
      }
    }
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) { return {left.plain + right.plain, left.normalised + right.normalised}; }
  EVERYWHERE void finish(int64_t row, int lane, int lanes, const Sum& all) const {
    const auto features = static_cast<float>(from.packs * V);
    for (int p = lane; p < from.packs; p += lanes) {
      const auto values = from.at(row, p);
      const Pack<float, V> scales = read<float, V>(gamma, p);
      Pack<T, V> results;
      for (int v = 0; v < V; ++v) {
        const float centred =
            float(values.gradients.at[v]) * scales.at[v] - (all.plain + values.normalised.at[v] * all.normalised) / features;
        results.at[v] = T(from.inverses[row] * centred);
      }
      write(gx, row * from.packs + p, results);
    }
  }
};

size_t layer_norm_backward_scratch(const Shape& x) { return static_cast<size_t>(kMostPartials * x.back()) * 2 * sizeof(float); }

MadeKernel make_layer_norm_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const auto features = static_cast<int>(shape.back()), rows = static_cast<int>(elements_of(shape) / features);
  return by_packs(spec.precision, features, [&]<class P>(P) {
    using T = typename P::T;
    constexpr int V = P::V;
    const NormalisedRows<T, V> from{spec.inputs[0].as<T>(), spec.inputs[4].as<T>(), spec.inputs[2].as<float>(), spec.inputs[3].as<float>(),
                                    features / V};
    const ChannelTiles tiles(rows, features / V, kMostPartials);
    auto* const partials = static_cast<float*>(spec.scratch);
    const ChunksOfRows<T, V> sums{from, partials, tiles, tiles.lanes};
    const ParameterGradients gradients{partials, spec.outputs[1].as<float>(), spec.outputs[2].as<float>(), tiles.chunks, features};
    const InputGradients<T, V> inputs{from, spec.inputs[1].as<float>(), spec.outputs[0].as<T>()};
    return queued([&stream, rows, sums, gradients, inputs] {
      reduce(stream, sums.tiles.blocks(), sums);
      each(stream, gradients.features, gradients);
      if (inputs.gx) reduce_rows(stream, rows, inputs.from.packs, inputs);
    });
  });
}

using enum Port;
const Registered kOperators{{
    {"layerNormBackward",
     {rows, wide, wide, wide, rows},
     {rows, wide, wide},
     make_layer_norm_backward,
     {{0, 4}},
     by_first_input<layer_norm_backward_scratch>},
}};

}  // namespace
}  // namespace arbalest::cuda
