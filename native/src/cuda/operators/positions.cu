// y = x + a table that all samples share, such as one vector for each place of a sequence; the table's gradient is a sum over samples.
#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Positions {
  const T* x;          // (N, E)
  const float* table;  // (E)
  T* y;                // (N, E); may be x
  int64_t packs;       // of a sample

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> values = read<T, V>(x, i);
    const Pack<float, V> shifts = read<float, V>(table, i % packs);
    for (int v = 0; v < V; ++v) values.at[v] = T(float(values.at[v]) + shifts.at[v]);
    write(y, i, values);
  }
};

template <class T, int V> struct PositionsBackward {
  const T* gy;    // (N, E)
  float* gtable;  // (E)
  int64_t samples, packs;

  EVERYWHERE void operator()(int64_t i) const {
    Pack<float, V> sums{};
    for (int64_t n = 0; n < samples; ++n) {
      const Pack<T, V> gradients = read<T, V>(gy, n * packs + i);
      for (int v = 0; v < V; ++v) sums.at[v] += float(gradients.at[v]);
    }
    write(gtable, i, sums);
  }
};

MadeKernel make_positions(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t entries = elements_of(spec.inputs[1].shape()), samples = spec.inputs[0].shape()[0];
  return by_packs(spec.precision, entries, [&]<class P>(P) {
    using T = typename P::T;
    const Positions<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(), entries / P::V};
    return queued([&stream, samples, program] { each(stream, samples * program.packs, program); });
  });
}

MadeKernel make_positions_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t entries = elements_of(spec.outputs[0].shape()), samples = spec.inputs[0].shape()[0];
  return by_packs(spec.precision, entries, [&]<class P>(P) {
    using T = typename P::T;
    const PositionsBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<float>(), samples, entries / P::V};
    return queued([&stream, program] { each(stream, program.packs, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"positions", {rows, wide}, {rows}, make_positions, {{0, 0}}},
    {"positionsBackward", {rows}, {wide}, make_positions_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
