// The first maximum in row-major order wins, and a NaN is greater than all: PyTorch's rule. Padding never wins.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct MaxPool {
  const T* px;        // (N, H, W, C)
  T* py;              // (N, OH, OW, C)
  uint8_t* position;  // (N, OH, OW, C) or null: kh * KW + kw
  Image x, y;
  Window window;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel out(i, y, y.c / V);
    float best[V] = {};
    int where[V];
    for (int v = 0; v < V; ++v) where[v] = -1;
    for (int kh = 0; kh < window.kernel[0]; ++kh) {
      const int h = window.input_of(0, out.h, kh);
      if (h < 0 || h >= x.h) continue;
      for (int kw = 0; kw < window.kernel[1]; ++kw) {
        const int w = window.input_of(1, out.w, kw);
        if (w < 0 || w >= x.w) continue;
        const Pack<T, V> values = read<T, V>(px, x.at(out.n, h, w, out.c * V) / V);
        for (int v = 0; v < V; ++v) {
          const float value = float(values.at[v]);
          const bool nan = value != value, held_nan = where[v] >= 0 && best[v] != best[v];
          if (where[v] >= 0 && !(value > best[v]) && !(nan && !held_nan)) continue;
          best[v] = value;
          where[v] = kh * window.kernel[1] + kw;
        }
      }
    }
    Pack<T, V> results;
    Pack<uint8_t, V> places;
    for (int v = 0; v < V; ++v) {
      results.at[v] = T(best[v]);
      places.at[v] = static_cast<uint8_t>(where[v]);
    }
    write(py, i, results);
    if (position) write(position, i, places);
  }
};

// Every input pixel gathers from the windows that contain it, so that no two threads add to one pixel.
template <class T, int V> struct MaxPoolBackward {
  const uint8_t* position;  // (N, OH, OW, C)
  const T* pgy;             // (N, OH, OW, C)
  T* pgx;                   // (N, H, W, C)
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
        const int64_t at = y.at(in.n, oh, ow, in.c * V) / V;
        const Pack<uint8_t, V> places = read<uint8_t, V>(position, at);
        const Pack<T, V> gradients = read<T, V>(pgy, at);
        for (int v = 0; v < V; ++v)
          if (places.at[v] == kh * window.kernel[1] + kw) sums[v] += float(gradients.at[v]);
      }
    }
    Pack<T, V> results;
    for (int v = 0; v < V; ++v) results.at[v] = T(sums[v]);
    write(pgx, i, results);
  }
};

MadeKernel make_max_pool(const OperatorSpec& spec, DeviceStream& stream) {
  const Image x(spec.inputs[0].shape()), y(spec.outputs[0].shape());
  return by_packs(spec.precision, y.c, [&]<class P>(P) {
    using T = typename P::T;
    const MaxPool<T, P::V> program{spec.inputs[0].as<T>(),    spec.outputs[0].as<T>(), spec.outputs[1].as<uint8_t>(), x, y,
                                   window_of(spec.attributes)};
    return queued([&stream, program] { each(stream, program.y.elements() / P::V, program); });
  });
}

MadeKernel make_max_pool_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image y(spec.inputs[0].shape()), x(spec.outputs[0].shape());
  return by_packs(spec.precision, x.c, [&]<class P>(P) {
    using T = typename P::T;
    const MaxPoolBackward<T, P::V> program{spec.inputs[0].as<uint8_t>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>(), x, y,
                                           window_of(spec.attributes)};
    return queued([&stream, program] { each(stream, program.x.elements() / P::V, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"maxPool2d", {image}, {image, image}, make_max_pool},
    {"maxPool2dBackward", {image, image}, {image}, make_max_pool_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
