// Every pixel `factor` times along each axis: the nearest neighbour of a larger image. Its gradient is a sum over those pixels.
#include "cuda/launch.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T, int V> struct Upsample {
  const T* px;  // (N, H, W, C)
  T* py;        // (N, H * rows, W * columns, C)
  Image x, y;
  int rows, columns;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel out(i, y, y.c / V);
    write(py, i, read<T, V>(px, x.at(out.n, out.h / rows, out.w / columns, out.c * V) / V));
  }
};

template <class T, int V> struct UpsampleBackward {
  const T* pgy;  // (N, H * rows, W * columns, C)
  T* pgx;        // (N, H, W, C)
  Image x, y;
  int rows, columns;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel in(i, x, x.c / V);
    float sums[V] = {};
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const Pack<T, V> gradients = read<T, V>(pgy, y.at(in.n, in.h * rows + row, in.w * columns + column, in.c * V) / V);
        for (int v = 0; v < V; ++v) sums[v] += float(gradients.at[v]);
      }
    }
    Pack<T, V> results;
    for (int v = 0; v < V; ++v) results.at[v] = T(sums[v]);
    write(pgx, i, results);
  }
};

MadeKernel make_upsample(const OperatorSpec& spec, DeviceStream& stream) {
  const Image x(spec.inputs[0].shape()), y(spec.outputs[0].shape());
  return by_packs(spec.precision, y.c, [&]<class P>(P) {
    using T = typename P::T;
    const Upsample<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x, y, y.h / x.h, y.w / x.w};
    return queued([&stream, program] { each(stream, program.y.elements() / P::V, program); });
  });
}

MadeKernel make_upsample_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image y(spec.inputs[0].shape()), x(spec.outputs[0].shape());
  return by_packs(spec.precision, x.c, [&]<class P>(P) {
    using T = typename P::T;
    const UpsampleBackward<T, P::V> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), x, y, y.h / x.h, y.w / x.w};
    return queued([&stream, program] { each(stream, program.x.elements() / P::V, program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"upsample2d", {image}, {image}, make_upsample},
    {"upsample2dBackward", {image}, {image}, make_upsample_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
