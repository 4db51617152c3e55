// y = (x - mean) * inverse * gamma + beta for each row, inverse = 1 / sqrt(variance + epsilon), the variance biased: Ba, Kiros and Hinton,
// "Layer normalization", 2016.
#include <cmath>

#include "cuda/launch.h"
#include "cuda/operators/queued.h"
#include "cuda/row_reduction.h"

namespace arbalest::cuda {
namespace {

// Merged by Chan, Golub and LeVeque's rule.
struct RowMoments {
  float count, mean, squares;
};

template <class T, int V> struct LayerNorm {
  using Sum = RowMoments;

  const T* x;          // (N, F)
  const float* gamma;  // (F)
  const float* beta;   // (F)
  T* y;                // (N, F); may be x
  float* means;        // (N) or null
  float* inverses;     // (N) or null
  int packs;           // of a row
  float epsilon;

  EVERYWHERE Sum partial(int64_t row, int lane, int lanes) const {
    Sum found{};
    for (int p = lane; p < packs; p += lanes) {
      const Pack<T, V> values = read<T, V>(x, row * packs + p);
      for (int v = 0; v < V; ++v) found.mean += float(values.at[v]);
      found.count += V;
    }
    if (found.count == 0) return found;
    found.mean /= found.count;
    for (int p = lane; p < packs; p += lanes) {
      const Pack<T, V> values = read<T, V>(x, row * packs + p);
      for (int v = 0; v < V; ++v) found.squares += (float(values.at[v]) - found.mean) * (float(values.at[v]) - found.mean);
    }
    return found;
  }

  EVERYWHERE static Sum sum(const Sum& left, const Sum& right) {
    if (right.count == 0) return left;
    const float count = left.count + right.count, share = right.count / count, step = right.mean - left.mean;
    return {count, left.mean + step * share, left.squares + right.squares + step * step * left.count * share};
  }

  EVERYWHERE void finish(int64_t row, int lane, int lanes, const Sum& all) const {
    const float inverse = 1 / sqrtf(all.squares / all.count + epsilon);
    for (int p = lane; p < packs; p += lanes) {
      Pack<T, V> values = read<T, V>(x, row * packs + p);
      const Pack<float, V> scales = read<float, V>(gamma, p), shifts = read<float, V>(beta, p);
      for (int v = 0; v < V; ++v) values.at[v] = T((float(values.at[v]) - all.mean) * inverse * scales.at[v] + shifts.at[v]);
      write(y, row * packs + p, values);
    }
    if (lane != 0) return;
    if (means) means[row] = all.mean;
    if (inverses) inverses[row] = inverse;
  }
};

MadeKernel make_layer_norm(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& shape = spec.inputs[0].shape();
  const int64_t rows = elements_of(shape) / shape.back();
  return by_packs(spec.precision, shape.back(), [&]<class P>(P) {
    using T = typename P::T;
    const LayerNorm<T, P::V> program{spec.inputs[0].as<T>(),
                                     spec.inputs[1].as<float>(),
                                     spec.inputs[2].as<float>(),
                                     spec.outputs[0].as<T>(),
                                     spec.outputs[1].as<float>(),
                                     spec.outputs[2].as<float>(),
                                     static_cast<int>(shape.back() / P::V),
                                     static_cast<float>(spec.attributes.number("epsilon"))};
    return queued([&stream, rows, program] { reduce_rows(stream, rows, program.packs, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"layerNorm", {rows, wide, wide}, {rows, wide, wide}, make_layer_norm, {{0, 0}}},
}};

}  // namespace
}  // namespace arbalest::cuda
