// Pixels of images as positions of sequences, a token before each sequence, one position of each; and their gradients. Images lie as
// (N, H, W, C), which are (N, H * W, C) as they are.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/sequence_length.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Copy {
  const T* x;
  T* y;  // may be x

  EVERYWHERE void operator()(int64_t i) const { write(y, i, read<T, V>(x, i)); }
};

template <class T, int V> struct ClassToken {
  const T* x;             // (N, T, F)
  const float* token;     // (1, 1, F)
  T* y;                   // (N, 1 + T, F)
  int64_t length, packs;  // 1 + T; packs: of the features of a position

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t row = i / packs, pack = i % packs, sample = row / length;
    if (row % length != 0) return write(y, i, read<T, V>(x, (row - sample - 1) * packs + pack));
    const Pack<float, V> wide = read<float, V>(token, pack);
    Pack<T, V> values;
    for (int v = 0; v < V; ++v) values.at[v] = T(wide.at[v]);
    write(y, i, values);
  }
};

// The first `packs` items sum the token's gradient; the others copy.
template <class T, int V> struct ClassTokenBackward {
  const T* gy;                     // (N, 1 + T, F)
  T* gx;                           // (N, T, F) or null
  float* gtoken;                   // (1, 1, F) or null
  int64_t samples, length, packs;  // length: T

  EVERYWHERE void operator()(int64_t i) const {
    if (i < packs) {
      if (!gtoken) return;
      Pack<float, V> sums{};
      for (int64_t n = 0; n < samples; ++n) {
        const Pack<T, V> gradients = read<T, V>(gy, n * (length + 1) * packs + i);
        for (int v = 0; v < V; ++v) sums.at[v] += float(gradients.at[v]);
      }
      return write(gtoken, i, sums);
    }
    if (!gx) return;
    const int64_t at = i - packs, row = at / packs;
    write(gx, at, read<T, V>(gy, at + (row / length + 1) * packs));
  }
};

template <class T, int V> struct TakePosition {
  const T* x;            // (N, T, F)
  const float* lengths;  // (N) or null
  T* y;                  // (N, F)
  int64_t length, packs, position;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t sample = i / packs, at = place_of(position, lengths, sample, length);
    write(y, i, at < 0 ? Pack<T, V>{} : read<T, V>(x, (sample * length + at) * packs + i % packs));
  }
};

template <class T, int V> struct TakePositionBackward {
  const T* gy;           // (N, F)
  const float* lengths;  // (N) or null
  T* gx;                 // (N, T, F)
  int64_t length, packs, position;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t row = i / packs;
    write(gx, i,
          row % length == place_of(position, lengths, row / length, length) ? read<T, V>(gy, row / length * packs + i % packs)
                                                                            : Pack<T, V>{});
  }
};

MadeKernel make_copy(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, elements, [&]<class P>(P) {
    using T = typename P::T;
    const Copy<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>()};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

MadeKernel make_class_token(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& y = spec.outputs[0].shape();
  return by_packs(spec.precision, y[2], [&]<class P>(P) {
    using T = typename P::T;
    const ClassToken<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(), spec.outputs[0].as<T>(), y[1], y[2] / P::V};
    return queued([&stream, rows = y[0] * y[1], program] { each(stream, rows * program.packs, program); });
  });
}

MadeKernel make_class_token_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Shape& gy = spec.inputs[0].shape();
  return by_packs(spec.precision, gy[2], [&]<class P>(P) {
    using T = typename P::T;
    float* gtoken = spec.outputs.size() > 1 ? spec.outputs[1].as<float>() : nullptr;
    const ClassTokenBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), gtoken, gy[0], gy[1] - 1, gy[2] / P::V};
    return queued([&stream, program] { each(stream, program.packs + program.samples * program.length * program.packs, program); });
  });
}

template <template <class, int> class Program>
MadeKernel make_of_position(const OperatorSpec& spec, DeviceStream& stream, const Shape& sequence) {
  const int64_t elements = elements_of(spec.outputs[0].shape());
  return by_packs(spec.precision, sequence[2], [&]<class P>(P) {
    using T = typename P::T;
    const Program<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<float>(),        spec.outputs[0].as<T>(), sequence[1],
                                   sequence[2] / P::V,     whole(spec.attributes, "position")};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

MadeKernel make_take_position(const OperatorSpec& spec, DeviceStream& stream) {
  return make_of_position<TakePosition>(spec, stream, spec.inputs[0].shape());
}

MadeKernel make_take_position_backward(const OperatorSpec& spec, DeviceStream& stream) {
  return make_of_position<TakePositionBackward>(spec, stream, spec.outputs[0].shape());
}

using enum Port;
const Registered kOperators{{
    {"imagePositions", {image}, {rows}, make_copy, {{0, 0}}},
    {"imagePositionsBackward", {rows}, {image}, make_copy, {{0, 0}}},
    {"classToken", {rows, wide}, {rows}, make_class_token},
    {"classTokenBackward", {rows}, {rows, wide}, make_class_token_backward},
    {"takePosition", {rows, wide}, {rows}, make_take_position},
    {"takePositionBackward", {rows, wide}, {rows}, make_take_position_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
