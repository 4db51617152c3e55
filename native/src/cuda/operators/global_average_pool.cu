#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

// One thread for each channel of a sample: neighbours in a warp read neighbours in memory, and small batches still fill the device.
template <class T> struct GlobalAveragePool {
  const T* x;  // (N, H, W, C)
  T* y;        // (N, C)
  int channels, pixels;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t first = i / channels * pixels * channels + i % channels;
    float sum = 0;
    for (int s = 0; s < pixels; ++s) sum += float(x[first + static_cast<int64_t>(s) * channels]);
    y[i] = T(sum / static_cast<float>(pixels));
  }
};

template <class T, int V> struct GlobalAveragePoolBackward {
  const T* gy;  // (N, C)
  T* gx;        // (N, H, W, C)
  int packs;    // of channels
  int pixels;

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> shares = read<T, V>(gy, i / packs / pixels * packs + i % packs);
    for (int v = 0; v < V; ++v) shares.at[v] = T(float(shares.at[v]) / static_cast<float>(pixels));
    write(gx, i, shares);
  }
};

MadeKernel make_global_average_pool(const OperatorSpec& spec, DeviceStream& stream) {
  const Image x(spec.inputs[0].shape());
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const GlobalAveragePool<T> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x.c, x.h * x.w};
    return queued([&stream, program, n = x.n * x.c] { each(stream, n, program); });
  });
}

MadeKernel make_global_average_pool_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image x(spec.outputs[0].shape());
  return by_packs(spec.precision, x.c, [&]<class P>(P) {
    using T = typename P::T;
    const GlobalAveragePoolBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x.c / P::V, x.h * x.w};
    return queued([&stream, program, n = x.elements() / P::V] { each(stream, n, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"globalAvgPool", {image}, {image}, make_global_average_pool},
    {"globalAvgPoolBackward", {image}, {image}, make_global_average_pool_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
