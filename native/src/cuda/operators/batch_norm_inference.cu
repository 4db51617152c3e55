#include <cmath>

#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/bounds.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct BatchNormInference {
  const T* x;                                   // (rows, C)
  const T* residual;                            // (rows, C) or null
  T* y;                                         // (rows, C); may be x or residual
  const float *gamma, *beta, *mean, *variance;  // (C)
  int packs;
  float epsilon;
  Bounds bounds;

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> values = read<T, V>(x, i), added{};
    if (residual) added = read<T, V>(residual, i);
    for (int v = 0; v < V; ++v) {
      const int c = static_cast<int>(i % packs) * V + v;
      float value = (float(values.at[v]) - mean[c]) * (gamma[c] / sqrtf(variance[c] + epsilon)) + beta[c];
      if (residual) value += float(added.at[v]);
      values.at[v] = T(bounds.within(value));
    }
    write(y, i, values);
  }
};

MadeKernel make_batch_norm_inference(const OperatorSpec& spec, DeviceStream& stream) {
  const Image image(spec.inputs[0].shape());
  return by_packs(spec.precision, image.c, [&]<class P>(P) {
    using T = typename P::T;
    const BatchNormInference<T, P::V> program{spec.inputs[0].as<T>(),
                                              spec.inputs[5].as<T>(),
                                              spec.outputs[0].as<T>(),
                                              spec.inputs[1].as<float>(),
                                              spec.inputs[2].as<float>(),
                                              spec.inputs[3].as<float>(),
                                              spec.inputs[4].as<float>(),
                                              image.c / P::V,
                                              static_cast<float>(spec.attributes.number("epsilon")),
                                              Bounds(spec.attributes)};
    return queued([&stream, program, n = image.elements() / P::V] { each(stream, n, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"batchNormInference", {image, wide, wide, wide, wide, image}, {image}, make_batch_norm_inference, {{0, 0}, {0, 5}}},
}};

}  // namespace
}  // namespace arbalest::cuda
