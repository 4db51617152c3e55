// The mean of the places of a sequence, and its gradient.
#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct MeanPositions {
  const T* x;             // (N, T, F)
  T* y;                   // (N, F)
  int64_t length, packs;  // packs: of the features of a place

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t sample = i / packs, pack = i % packs;
    Pack<float, V> sums{};
    for (int64_t t = 0; t < length; ++t) {
      const Pack<T, V> values = read<T, V>(x, (sample * length + t) * packs + pack);
      for (int v = 0; v < V; ++v) sums.at[v] += float(values.at[v]);
    }
    Pack<T, V> means;
    for (int v = 0; v < V; ++v) means.at[v] = T(sums.at[v] / static_cast<float>(length));
    write(y, i, means);
  }
};

template <class T, int V> struct MeanPositionsBackward {
  const T* gy;  // (N, F)
  T* gx;        // (N, T, F)
  int64_t length, packs;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t sample = i / (length * packs), pack = i % packs;
    Pack<T, V> gradients = read<T, V>(gy, sample * packs + pack);
    for (int v = 0; v < V; ++v) gradients.at[v] = T(float(gradients.at[v]) / static_cast<float>(length));
    write(gx, i, gradients);
  }
};

MadeKernel make_mean_positions(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& x = spec.inputs[0].shape();
  return by_packs(spec.precision, x[2], [&]<class P>(P) {
    using T = typename P::T;
    const MeanPositions<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x[1], x[2] / P::V};
    return queued([&stream, samples = x[0], program] { each(stream, samples * program.packs, program); });
  });
}

MadeKernel make_mean_positions_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& gx = spec.outputs[0].shape();
  return by_packs(spec.precision, gx[2], [&]<class P>(P) {
    using T = typename P::T;
    const MeanPositionsBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), gx[1], gx[2] / P::V};
    return queued([&stream, rows = gx[0] * gx[1], program] { each(stream, rows * program.packs, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"meanPositions", {rows}, {rows}, make_mean_positions},
    {"meanPositionsBackward", {rows}, {rows}, make_mean_positions_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
