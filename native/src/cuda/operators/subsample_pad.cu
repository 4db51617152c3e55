// Every stride-th pixel of every stride-th row, between `before` and `after` channels of zeros: ResNet's shortcut A.
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

template <class T> struct SubsamplePad {
  const T* px;  // (N, H, W, C)
  T* py;        // (N, ceil(H / stride), ceil(W / stride), before + C + after)
  Image x, y;
  int stride, before;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel out(i, y, y.c);
    const bool inside = out.c >= before && out.c < before + x.c;
    py[i] = inside ? px[x.at(out.n, out.h * stride, out.w * stride, out.c - before)] : T(0.0f);
  }
};

template <class T> struct SubsamplePadBackward {
  const T* pgy;  // (N, ceil(H / stride), ceil(W / stride), before + C + after)
  T* pgx;        // (N, H, W, C)
  Image x, y;
  int stride, before;

  EVERYWHERE void operator()(int64_t i) const {
    const Pixel in(i, x, x.c);
    const bool taken = in.h % stride == 0 && in.w % stride == 0;
    pgx[i] = taken ? pgy[y.at(in.n, in.h / stride, in.w / stride, in.c + before)] : T(0.0f);
  }
};

MadeKernel make_subsample_pad(const OperatorSpec& spec, DeviceStream& stream) {
  const Image x(spec.inputs[0].shape()), y(spec.outputs[0].shape());
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SubsamplePad<T> program{spec.inputs[0].as<T>(),           spec.outputs[0].as<T>(),         x, y,
                                  whole(spec.attributes, "stride"), whole(spec.attributes, "before")};
    return queued([&stream, program] { each(stream, program.y.elements(), program); });
  });
}

MadeKernel make_subsample_pad_backward(const OperatorSpec& spec, DeviceStream& stream) {
  const Image y(spec.inputs[0].shape()), x(spec.outputs[0].shape());
  return by_type(spec.precision, [&]<class P>(P) {
    using T = typename P::T;
    const SubsamplePadBackward<T> program{spec.inputs[0].as<T>(),           spec.outputs[0].as<T>(),         x, y,
                                          whole(spec.attributes, "stride"), whole(spec.attributes, "before")};
    return queued([&stream, program] { each(stream, program.x.elements(), program); });
  });
}

using enum Port;
const Registered kOperators{{
    {"subsamplePad", {image}, {image}, make_subsample_pad},
    {"subsamplePadBackward", {image}, {image}, make_subsample_pad_backward},
}};

}  // namespace
}  // namespace arbalest::cuda
