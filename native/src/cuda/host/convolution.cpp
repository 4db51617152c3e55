// Convolutions of (N, H, W, C) with (O, KH, KW, C / groups).
#include "cuda/host/library_kernels.h"
#include "cuda/launch.h"
#include "cuda/layouts.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

// The tensors of the forward convolution; the image of w is (O, C / groups, KH, KW).
struct Geometry {
  Image x, w, y;
  Window window;
  int filters;  // of a group

  Geometry(const Shape& xs, const Shape& ws, const Shape& ys, const Attributes& attributes)
      : x(xs), w(ws), y(ys), window(window_of(attributes, w.h, w.w)), filters(w.n / static_cast<int>(attributes.number("groups", 1))) {}
  int first_channel(int o) const { return o / filters * w.c; }
};

template <class T> struct Forward {
  Geometry at;
  const T *x, *w;
  T* y;

  void operator()(int64_t i) const {
    const Pixel out(i, at.y, at.y.c);
    float sum = 0;
    for (int kh = 0; kh < at.w.h; ++kh) {
      for (int kw = 0; kw < at.w.w; ++kw) {
        const int h = at.window.input_of(0, out.h, kh), v = at.window.input_of(1, out.w, kw);
        if (h < 0 || h >= at.x.h || v < 0 || v >= at.x.w) continue;
        for (int c = 0; c < at.w.c; ++c)
          sum += float(x[at.x.at(out.n, h, v, at.first_channel(out.c) + c)]) * float(w[at.w.at(out.c, kh, kw, c)]);
      }
    }
    y[i] = T(sum);
  }
};

template <class T> struct BackwardData {
  Geometry at;
  const T *gy, *w;
  T* gx;

  void operator()(int64_t i) const {
    const Pixel in(i, at.x, at.x.c);
    const int first = in.c / at.w.c * at.filters;
    float sum = 0;
    for (int kh = 0; kh < at.w.h; ++kh) {
      for (int kw = 0; kw < at.w.w; ++kw) {
        const int oh = at.window.output_of(0, in.h, kh, at.y.h), ow = at.window.output_of(1, in.w, kw, at.y.w);
        if (oh < 0 || ow < 0) continue;
        for (int o = first; o < first + at.filters; ++o)
          sum += float(gy[at.y.at(in.n, oh, ow, o)]) * float(w[at.w.at(o, kh, kw, in.c % at.w.c)]);
      }
    }
    gx[i] = T(sum);
  }
};

template <class T> struct BackwardWeights {
  Geometry at;
  const T *x, *gy;
  T* gw;

  void operator()(int64_t i) const {
    const Pixel tap(i, at.w, at.w.c);  // n is the filter
    float sum = 0;
    for (int n = 0; n < at.x.n; ++n) {
      for (int oh = 0; oh < at.y.h; ++oh) {
        const int h = at.window.input_of(0, oh, tap.h);
        if (h < 0 || h >= at.x.h) continue;
        for (int ow = 0; ow < at.y.w; ++ow) {
          const int v = at.window.input_of(1, ow, tap.w);
          if (v < 0 || v >= at.x.w) continue;
          sum += float(x[at.x.at(n, h, v, at.first_channel(tap.n) + tap.c)]) * float(gy[at.y.at(n, oh, ow, tap.n)]);
        }
      }
    }
    gw[i] = T(sum);
  }
};

template <class T> MadeKernel make(const OperatorSpec& spec, DeviceStream& stream) {
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  if (spec.kind == "conv2d") {
    const Forward<T> program{Geometry(in[0].shape(), in[1].shape(), out[0].shape(), spec.attributes), in[0].as<T>(), in[1].as<T>(),
                             out[0].as<T>()};
    return queued([&stream, program, y = out[0], b = in[2].as<float>(), relu = flag(spec.attributes, "relu")] {
      each(stream, program.at.y.elements(), program);
      queue_bias(y, y.shape()[1], b, relu, stream);
    });
  }
  if (spec.kind == "conv2dBackwardData") {
    const BackwardData<T> program{Geometry(out[0].shape(), in[1].shape(), in[0].shape(), spec.attributes), in[0].as<T>(), in[1].as<T>(),
                                  out[0].as<T>()};
    return queued([&stream, program] { each(stream, program.at.x.elements(), program); });
  }
  if (spec.kind != "conv2dBackwardWeights") return nullptr;
  const BackwardWeights<T> program{Geometry(in[0].shape(), out[0].shape(), in[1].shape(), spec.attributes), in[0].as<T>(), in[1].as<T>(),
                                   out[0].as<T>()};
  return queued([&stream, program, gy = in[1], gb = out[1].as<float>(), partials = static_cast<float*>(spec.scratch)] {
    each(stream, program.at.w.elements(), program);
    if (gb) queue_bias_gradient(gy, gy.shape()[1], gb, partials, stream);
  });
}

}  // namespace

MadeKernel make_convolution(const OperatorSpec& spec, DeviceStream& stream) {
  return spec.precision == Type::bf16 ? make<Bf16>(spec, stream) : make<float>(spec, stream);
}

}  // namespace arbalest::cuda
