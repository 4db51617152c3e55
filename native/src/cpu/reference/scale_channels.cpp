// Each channel of an image by a number of its own: x (N, C, H, W) and factors (N, C), as squeeze-and-excitation has it (Hu et al., CVPR
// 2018).
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

template <class T> void scale_channels(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const T *x = op.inputs[0].as<T>(), *factors = op.inputs[1].as<T>();
  T* y = op.outputs[0].as<T>();
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i) y[i] = rounded<T>(double{x[i]} * double{factors[plane]});
  }
}

template <class T> void scale_channels_backward(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const T *x = op.inputs[0].as<T>(), *factors = op.inputs[1].as<T>(), *gy = op.inputs[2].as<T>();
  T *gx = op.outputs[0].as<T>(), *gfactors = op.outputs[1].as<T>();
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    double sum = 0;
    for (int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i) {
      const double gradient = gy[i];
      sum += gradient * double{x[i]};
      if (gx) gx[i] = rounded<T>(gradient * double{factors[plane]});
    }
    if (gfactors) gfactors[plane] = rounded<T>(sum);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"scaleChannels",
       {{"x", activation}, {"factors", activation}},
       {{"y", activation}},
       check_scaled_channels,
       {scale_channels<float>, scale_channels<double>, scale_channels<Bf16>},
       {{0, 0}}},
      {"scaleChannelsBackward",
       {{"x", activation}, {"factors", activation}, {"gy", activation}},
       {{"gx", activation, true}, {"gfactors", activation, true}},
       check_scaled_channels_gradient,
       {scale_channels_backward<float>, scale_channels_backward<double>, scale_channels_backward<Bf16>},
       {{0, 2}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
