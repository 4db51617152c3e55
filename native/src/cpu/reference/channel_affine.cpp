// Each channel of an image times a number of its own, plus another: x (N, C, H, W), scale and shift (C), either of which may be absent.
#include "cpu/channel_affine.h"

#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

template <class T> void channel_affine(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const T* x = op.inputs[0].as<T>();
  const Wide<T>*scale = op.inputs[1].as<Wide<T>>(), *shift = op.inputs[2].as<Wide<T>>();
  T* y = op.outputs[0].as<T>();
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const int64_t c = plane % shape[1];
    const double factor = scale ? double{scale[c]} : 1, summand = shift ? double{shift[c]} : 0;
    for (int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i) y[i] = rounded<T>(double{x[i]} * factor + summand);
  }
}

template <class T> void channel_affine_backward(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[2].shape();
  const T *x = op.inputs[0].as<T>(), *gy = op.inputs[2].as<T>();
  const Wide<T>* scale = op.inputs[1].as<Wide<T>>();
  T* gx = op.outputs[0].as<T>();
  Wide<T>*gscale = op.outputs[1].as<Wide<T>>(), *gshift = op.outputs[2].as<Wide<T>>();
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t c = 0; c < shape[1]; ++c) {
    double sum = 0, product = 0;
    for (int64_t n = 0; n < shape[0]; ++n) {
      const int64_t first = (n * shape[1] + c) * pixels;
      for (int64_t i = first; i < first + pixels; ++i) {
        const double gradient = gy[i];
        sum += gradient;
        if (x) product += gradient * double{x[i]};
        if (gx) gx[i] = rounded<T>(scale ? gradient * double{scale[c]} : gradient);
      }
    }
    if (gscale) gscale[c] = rounded<Wide<T>>(product);
    if (gshift) gshift[c] = rounded<Wide<T>>(sum);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"channelAffine",
       {{"x", activation}, {"scale", wide, true}, {"shift", wide, true}},
       {{"y", activation}},
       check_channel_affine,
       {channel_affine<float>, channel_affine<double>, channel_affine<Bf16>},
       {{0, 0}}},
      {"channelAffineBackward",
       {{"x", activation, true}, {"scale", wide, true}, {"gy", activation}},
       {{"gx", activation, true}, {"gscale", wide, true}, {"gshift", wide, true}},
       check_channel_affine_gradient,
       {channel_affine_backward<float>, channel_affine_backward<double>, channel_affine_backward<Bf16>},
       {{0, 2}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
