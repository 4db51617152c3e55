#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Relu {
  const T* x;
  T* y;  // may be x

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> values = read<T, V>(x, i);
    for (int v = 0; v < V; ++v)
      if (float(values.at[v]) < 0) values.at[v] = T(0.0f);
    write(y, i, values);
  }
};

template <class T, int V> struct ReluBackward {
  const T* y;
  const T* gy;
  T* gx;  // may be y or gy

  EVERYWHERE void operator()(int64_t i) const {
    const Pack<T, V> results = read<T, V>(y, i);
    Pack<T, V> gradients = read<T, V>(gy, i);
    for (int v = 0; v < V; ++v)
      if (!(float(results.at[v]) > 0)) gradients.at[v] = T(0.0f);
    write(gx, i, gradients);
  }
};

MadeKernel make_relu(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, elements, [&]<class P>(P) {
    using T = typename P::T;
    const Relu<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>()};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

MadeKernel make_relu_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, elements, [&]<class P>(P) {
    using T = typename P::T;
    const ReluBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>()};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"relu", {alike}, {alike}, make_relu, {{0, 0}}},
    {"reluBackward", {alike, alike}, {alike}, make_relu_backward, {{0, 1}, {0, 0}}},
}};

}  // namespace
}  // namespace arbalest::cuda
