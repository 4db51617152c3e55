#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Add {
  const T* a;
  const T* b;
  T* y;  // may be a or b
  bool relu;

  EVERYWHERE void operator()(int64_t i) const {
    const Pack<T, V> left = read<T, V>(a, i), right = read<T, V>(b, i);
    Pack<T, V> sums;
    for (int v = 0; v < V; ++v) {
      const float sum = float(left.at[v]) + float(right.at[v]);
      sums.at[v] = T(relu && sum < 0 ? 0.0f : sum);
    }
    write(y, i, sums);
  }
};

template <class T, int V> struct Multiply {
  const T* a;
  const T* b;
  T* y;  // may be a or b

  EVERYWHERE void operator()(int64_t i) const {
    const Pack<T, V> left = read<T, V>(a, i), right = read<T, V>(b, i);
    Pack<T, V> products;
    for (int v = 0; v < V; ++v) products.at[v] = T(float(left.at[v]) * float(right.at[v]));
    write(y, i, products);
  }
};

MadeKernel make_add(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, elements, [&]<class P>(P) {
    using T = typename P::T;
    const Add<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>(), flag(spec.attributes, "relu")};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

MadeKernel make_multiply(const OperatorSpec& spec, DeviceStream& stream) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, elements, [&]<class P>(P) {
    using T = typename P::T;
    const Multiply<T, P::V> program{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>()};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"add", {alike, alike}, {alike}, make_add, {{0, 0}, {0, 1}}},
    {"multiply", {alike, alike}, {alike}, make_multiply, {{0, 0}, {0, 1}}},
}};

}  // namespace
}  // namespace arbalest::cuda
