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
  int groups, filters;  // filters of a group

  Geometry(const Shape& xs, const Shape& ws, const Shape& ys, const Attributes& attributes)
      : x(xs),
        w(ws),
        y(ys),
        window(window_of(attributes, w.h, w.w)),
        groups(static_cast<int>(attributes.number("groups", 1))),
        filters(w.n / groups) {}
  int first_channel(int64_t o) const { return static_cast<int>(o) / filters * w.c; }
};

template <class T> struct Forward {
  Geometry at;
  const T *x, *w;
  T* y;

  int pieces() const { return at.groups * static_cast<int>(pieces_of(at.filters)); }  // of a pixel
  void operator()(int64_t i) const {
    const Pixel out(i, at.y, pieces());
    const Piece piece(out.c, at.filters);
    const int64_t filter = at.w.at(1, 0, 0, 0);
    float sums[kPiece] = {};
    for (int kh = 0; kh < at.w.h; ++kh) {
      for (int kw = 0; kw < at.w.w; ++kw) {
        const int h = at.window.input_of(0, out.h, kh), v = at.window.input_of(1, out.w, kw);
        if (h < 0 || h >= at.x.h || v < 0 || v >= at.x.w) continue;
        const T* const a = x + at.x.at(out.n, h, v, at.first_channel(piece.first));
        const T* const b = w + at.w.at(static_cast<int>(piece.first), kh, kw, 0);
        for (int c = 0; c < at.w.c; ++c) piece.add(sums, [&](int o) { return float(a[c]) * float(b[o * filter + c]); });
      }
    }
    T* const to = y + at.y.at(out.n, out.h, out.w, static_cast<int>(piece.first));
    for (int o = 0; o < piece.count; ++o) to[o] = T(sums[o]);
  }
};

template <class T> struct BackwardData {
  Geometry at;
  const T *gy, *w;
  T* gx;

  int pieces() const { return at.groups * static_cast<int>(pieces_of(at.w.c)); }  // of a pixel
  void operator()(int64_t i) const {
    const Pixel in(i, at.x, pieces());
    const Piece piece(in.c, at.w.c);
    const int channel = static_cast<int>(piece.first), first = channel / at.w.c * at.filters;
    float sums[kPiece] = {};
    for (int kh = 0; kh < at.w.h; ++kh) {
      for (int kw = 0; kw < at.w.w; ++kw) {
        const int oh = at.window.output_of(0, in.h, kh, at.y.h), ow = at.window.output_of(1, in.w, kw, at.y.w);
        if (oh < 0 || ow < 0) continue;
        for (int o = first; o < first + at.filters; ++o) {
          const float a = float(gy[at.y.at(in.n, oh, ow, o)]);
          const T* const b = w + at.w.at(o, kh, kw, channel % at.w.c);
          piece.add(sums, [&](int c) { return a * float(b[c]); });
        }
      }
    }
    T* const to = gx + at.x.at(in.n, in.h, in.w, channel);
    for (int c = 0; c < piece.count; ++c) to[c] = T(sums[c]);
  }
};

template <class T> struct BackwardWeights {
  Geometry at;
  const T *x, *gy;
  T* gw;

  int pieces() const { return static_cast<int>(pieces_of(at.w.c)); }  // of a tap
  void operator()(int64_t i) const {
    const Pixel tap(i, at.w, pieces());  // n is the filter
    const Piece piece(tap.c, at.w.c);
    const int channel = static_cast<int>(piece.first);
    float sums[kPiece] = {};
    for (int n = 0; n < at.x.n; ++n) {
      for (int oh = 0; oh < at.y.h; ++oh) {
        const int h = at.window.input_of(0, oh, tap.h);
        if (h < 0 || h >= at.x.h) continue;
        for (int ow = 0; ow < at.y.w; ++ow) {
          const int v = at.window.input_of(1, ow, tap.w);
          if (v < 0 || v >= at.x.w) continue;
          const float a = float(gy[at.y.at(n, oh, ow, tap.n)]);
          const T* const b = x + at.x.at(n, h, v, at.first_channel(tap.n) + channel);
          piece.add(sums, [&](int c) { return a * float(b[c]); });
        }
      }
    }
    T* const to = gw + at.w.at(tap.n, tap.h, tap.w, channel);
    for (int c = 0; c < piece.count; ++c) to[c] = T(sums[c]);
  }
};

template <class T> MadeKernel make(const OperatorSpec& spec, DeviceStream& stream) {
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  if (spec.kind == "conv2d") {
    const Forward<T> program{Geometry(in[0].shape(), in[1].shape(), out[0].shape(), spec.attributes), in[0].as<T>(), in[1].as<T>(),
                             out[0].as<T>()};
    return queued([&stream, program, y = out[0], b = in[2].as<float>(), relu = flag(spec.attributes, "relu")] {
      each(stream, int64_t{program.at.y.rows()} * program.pieces(), program);
      queue_bias(y, y.shape()[1], b, relu, stream);
    });
  }
  if (spec.kind == "conv2dBackwardData") {
    const BackwardData<T> program{Geometry(out[0].shape(), in[1].shape(), in[0].shape(), spec.attributes), in[0].as<T>(), in[1].as<T>(),
                                  out[0].as<T>()};
    return queued([&stream, program] { each(stream, int64_t{program.at.x.rows()} * program.pieces(), program); });
  }
  if (spec.kind != "conv2dBackwardWeights") return nullptr;
  const BackwardWeights<T> program{Geometry(in[0].shape(), out[0].shape(), in[1].shape(), spec.attributes), in[0].as<T>(), in[1].as<T>(),
                                   out[0].as<T>()};
  return queued([&stream, program, gy = in[1], gb = out[1].as<float>(), partials = static_cast<float*>(spec.scratch)] {
    each(stream, int64_t{program.at.w.rows()} * program.pieces(), program);
    if (gb) queue_bias_gradient(gy, gy.shape()[1], gb, partials, stream);
  });
}

}  // namespace

MadeKernel make_convolution(const OperatorSpec& spec, DeviceStream& stream) {
  return spec.precision == Type::bf16 ? make<Bf16>(spec, stream) : make<float>(spec, stream);
}

}  // namespace arbalest::cuda
