// Padding counts as zeros: every window is divided by its whole area.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct AveragePool {
  const T* px;  // (N, H, W, C)
  T* py;        // (N, OH, OW, C)
  Image x, y;
  Window window;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel out(i, y, y.c / V);
    float sums[V] = {};
    for (int kh = 0; kh < window.kernel[0]; ++kh) {
      const int h = window.input_of(0, out.h, kh);
      if (h < 0 || h >= x.h) continue;
      for (int kw = 0; kw < window.kernel[1]; ++kw) {
        const int w = window.input_of(1, out.w, kw);
        if (w < 0 || w >= x.w) continue;
        const Pack<T, V> values = read<T, V>(px, x.at(out.n, h, w, out.c * V) / V);
        for (int v = 0; v < V; ++v) sums[v] += float(values.at[v]);
      }
    }
    Pack<T, V> results;
    for (int v = 0; v < V; ++v) results.at[v] = T(sums[v] / static_cast<float>(window.kernel[0] * window.kernel[1]));
    write(py, i, results);
  }
};

template <class T, int V> struct AveragePoolBackward {
  const T* pgy;  // (N, OH, OW, C)
  T* pgx;        // (N, H, W, C)
  Image x, y;
  Window window;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel in(i, x, x.c / V);
    float sums[V] = {};
    for (int kh = 0; kh < window.kernel[0]; ++kh) {
      const int oh = window.output_of(0, in.h, kh, y.h);
      if (oh < 0) continue;
      for (int kw = 0; kw < window.kernel[1]; ++kw) {
        const int ow = window.output_of(1, in.w, kw, y.w);
        if (ow < 0) continue;
        const Pack<T, V> gradients = read<T, V>(pgy, y.at(in.n, oh, ow, in.c * V) / V);
        for (int v = 0; v < V; ++v) sums[v] += float(gradients.at[v]);
      }
    }
    Pack<T, V> results;
    for (int v = 0; v < V; ++v) results.at[v] = T(sums[v] / static_cast<float>(window.kernel[0] * window.kernel[1]));
    write(pgx, i, results);
  }
};

MadeKernel make_average_pool(const OperatorSpec& spec, DeviceStream& stream) {
  const Image x(spec.inputs[0].shape()), y(spec.outputs[0].shape());
  return by_packs(spec.precision, y.c, [&]<class P>(P) {
    using T = typename P::T;
    const AveragePool<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x, y, window_of(spec.attributes)};
    return queued([&stream, program] { each(stream, program.y.elements() / P::V, program); });
  });
}

MadeKernel make_average_pool_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image y(spec.inputs[0].shape()), x(spec.outputs[0].shape());
  return by_packs(spec.precision, x.c, [&]<class P>(P) {
    using T = typename P::T;
    const AveragePoolBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x, y, window_of(spec.attributes)};
    return queued([&stream, program] { each(stream, program.x.elements() / P::V, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"avgPool2d", {image}, {image}, make_average_pool},
    {"avgPool2dBackward", {image}, {image}, make_average_pool_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
