// Every pixel `factor` times along each axis: the nearest neighbour of a larger image.
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

template <class T> void upsample(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape()), y(op.outputs[0].shape());
  const T* px = op.inputs[0].as<T>();  // (N, C, H, W)
  T* py = op.outputs[0].as<T>();       // (N, C, H * rows, W * columns)
  const int64_t rows = y.h / x.h, columns = y.w / x.w;
  for (int64_t plane = 0; plane < y.n * y.c; ++plane) {
    for (int64_t h = 0; h < y.h; ++h) {
      for (int64_t w = 0; w < y.w; ++w) py[(plane * y.h + h) * y.w + w] = px[(plane * x.h + h / rows) * x.w + w / columns];
    }
  }
}

template <class T> void upsample_backward(const OperatorSpec& op, const StepContext&) {
  const Image y(op.inputs[0].shape()), x(op.outputs[0].shape());
  const T* pgy = op.inputs[0].as<T>();  // (N, C, H * rows, W * columns)
  T* pgx = op.outputs[0].as<T>();       // (N, C, H, W)
  const int64_t rows = y.h / x.h, columns = y.w / x.w;
  for (int64_t plane = 0; plane < x.n * x.c; ++plane) {
    for (int64_t h = 0; h < x.h; ++h) {
      for (int64_t w = 0; w < x.w; ++w) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) sum += pgy[(plane * y.h + h * rows + i) * y.w + w * columns + j];
        }
        pgx[(plane * x.h + h) * x.w + w] = rounded<T>(sum);
      }
    }
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"upsample2d", {{"x", activation}}, {{"y", activation}}, check_upsample, {upsample<float>, upsample<double>, upsample<Bf16>}},
      {"upsample2dBackward",
       {{"gy", activation}},
       {{"gx", activation}},
       check_upsample_gradient,
       {upsample_backward<float>, upsample_backward<double>, upsample_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
