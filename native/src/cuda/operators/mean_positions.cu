// The lengths of padded sequences; the mean of the places of a sequence, or of those before its length, and its gradient.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/sequence_length.h"

namespace arbalest::cuda {
namespace {

// The places up to the last token that is not padding.
struct Lengths {
  const int32_t* tokens;  // (N, T)
  float* y;               // (N)
  int64_t length;
  int32_t padding;

  EVERYWHERE void operator()(int64_t i) const {
    int64_t count = length;
    while (count > 0 && tokens[i * length + count - 1] == padding) --count;
    y[i] = static_cast<float>(count);
  }
};

template <class T, int V> struct MeanPositions {
  const T* x;             // (N, T, F)
  const float* lengths;   // (N) or null
  T* y;                   // (N, F)
  int64_t length, packs;  // packs: of the features of a place

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t sample = i / packs, pack = i % packs;
    const int64_t count = places_of(lengths, sample, length);
    Pack<float, V> sums{};
    for (int64_t t = 0; t < count; ++t) {
      const Pack<T, V> values = read<T, V>(x, (sample * length + t) * packs + pack);
      for (int v = 0; v < V; ++v) sums.at[v] += float(values.at[v]);
    }
    Pack<T, V> means;
    for (int v = 0; v < V; ++v) means.at[v] = T(count > 0 ? sums.at[v] / static_cast<float>(count) : 0.0f);
    write(y, i, means);
  }
};

template <class T, int V> struct MeanPositionsBackward {
  const T* gy;           // (N, F)
  const float* lengths;  // (N) or null
  T* gx;                 // (N, T, F)
  int64_t length, packs;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t sample = i / (length * packs), pack = i % packs, count = places_of(lengths, sample, length);
    const bool counts = i / packs % length < count;
    Pack<T, V> gradients = read<T, V>(gy, sample * packs + pack);
    for (int v = 0; v < V; ++v) gradients.at[v] = T(counts ? float(gradients.at[v]) / static_cast<float>(count) : 0.0f);
    write(gx, i, gradients);
  }
};

MadeKernel make_lengths(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& tokens = spec.inputs[0].shape();
  const Lengths program{spec.inputs[0].as<int32_t>(), spec.outputs[0].as<float>(), tokens[1], whole(spec.attributes, "padding")};
  return queued([&stream, samples = tokens[0], program] { each(stream, samples, program); });
}

MadeKernel make_mean_positions(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& x = spec.inputs[0].shape();
  return by_packs(spec.precision, x[2], [&]<class P>(P) {
    using T = typename P::T;
    const MeanPositions<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(), x[1], x[2] / P::V};
    return queued([&stream, samples = x[0], program] { each(stream, samples * program.packs, program); });
  });
}

MadeKernel make_mean_positions_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& gx = spec.outputs[0].shape();
  return by_packs(spec.precision, gx[2], [&]<class P>(P) {
    using T = typename P::T;
    const MeanPositionsBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(), gx[1],
                                                 gx[2] / P::V};
    return queued([&stream, rows = gx[0] * gx[1], program] { each(stream, rows * program.packs, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"lengths", {own}, {wide}, make_lengths},
    {"meanPositions", {rows, wide}, {rows}, make_mean_positions},
    {"meanPositionsBackward", {rows, wide}, {rows}, make_mean_positions_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
