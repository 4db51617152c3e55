// Smaller images without windows: one mean for each channel, or every stride-th pixel for ResNet's shortcut A.
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

void check_global(const Request& request) {
  request.input_rank(0, 4);
  request.output_is(0, {request.input(0)[0], request.input(0)[1]});
}

void check_global_backward(const Request& request) {
  request.output_rank(0, 4);
  request.input_is(0, {request.output(0)[0], request.output(0)[1]});
}

Shape subsampled(const Request& request, const Shape& x) {
  const int64_t stride = request.whole("stride", 1, 1 << 20), most = 1 << 20;
  return {x[0], x[1] + request.whole("before", 0, most) + request.whole("after", 0, most), (x[2] + stride - 1) / stride,
          (x[3] + stride - 1) / stride};
}

void check_subsample(const Request& request) {
  request.input_rank(0, 4);
  request.output_is(0, subsampled(request, request.input(0)));
}

void check_subsample_backward(const Request& request) {
  request.output_rank(0, 4);
  request.input_is(0, subsampled(request, request.output(0)));
}

template <class T> void global_average_pool(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const T* x = op.inputs[0].as<T>();  // (N, C, H, W)
  T* y = op.outputs[0].as<T>();       // (N, C)
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    double sum = 0;
    for (int64_t s = 0; s < pixels; ++s) sum += x[plane * pixels + s];
    y[plane] = rounded<T>(sum / static_cast<double>(pixels));
  }
}

template <class T> void global_average_pool_backward(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.outputs[0].shape();
  const T* gy = op.inputs[0].as<T>();  // (N, C)
  T* gx = op.outputs[0].as<T>();       // (N, C, H, W)
  const int64_t pixels = shape[2] * shape[3];
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const T share = rounded<T>(gy[plane] / static_cast<double>(pixels));
    for (int64_t s = 0; s < pixels; ++s) gx[plane * pixels + s] = share;
  }
}

// Every stride-th pixel of every stride-th row, between `before` and `after` channels of zeros.
template <class T> void subsample_pad(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape()), y(op.outputs[0].shape());
  const T* px = op.inputs[0].as<T>();  // (N, C, H, W)
  T* py = op.outputs[0].as<T>();       // (N, before + C + after, ceil(H / stride), ceil(W / stride))
  const auto stride = static_cast<int64_t>(op.attributes.number("stride")), before = static_cast<int64_t>(op.attributes.number("before"));
  for (int64_t n = 0; n < y.n; ++n) {
    for (int64_t c = 0; c < y.c; ++c) {
      const bool inside = c >= before && c < before + x.c;
      for (int64_t h = 0; h < y.h; ++h) {
        for (int64_t v = 0; v < y.w; ++v) {
          py[y.at(n, c, h, v)] = inside ? px[x.at(n, c - before, h * stride, v * stride)] : rounded<T>(0);
        }
      }
    }
  }
}

template <class T> void subsample_pad_backward(const OperatorSpec& op, const StepContext&) {
  const Image y(op.inputs[0].shape()), x(op.outputs[0].shape());
  const T* pgy = op.inputs[0].as<T>();  // (N, before + C + after, ceil(H / stride), ceil(W / stride))
  T* pgx = op.outputs[0].as<T>();       // (N, C, H, W)
  const auto stride = static_cast<int64_t>(op.attributes.number("stride")), before = static_cast<int64_t>(op.attributes.number("before"));
  for (int64_t n = 0; n < x.n; ++n) {
    for (int64_t c = 0; c < x.c; ++c) {
      for (int64_t h = 0; h < x.h; ++h) {
        for (int64_t v = 0; v < x.w; ++v) {
          const bool taken = h % stride == 0 && v % stride == 0;
          pgx[x.at(n, c, h, v)] = taken ? pgy[y.at(n, c + before, h / stride, v / stride)] : rounded<T>(0);
        }
      }
    }
  }
}

std::vector<Operator> operators() {
  using enum Role;
  const std::vector<Port> x{{"x", activation}}, y{{"y", activation}}, gy{{"gy", activation}}, gx{{"gx", activation}};
  return {
      {"globalAvgPool", x, y, check_global, {global_average_pool<float>, global_average_pool<double>, global_average_pool<Bf16>}},
      {"globalAvgPoolBackward",
       gy,
       gx,
       check_global_backward,
       {global_average_pool_backward<float>, global_average_pool_backward<double>, global_average_pool_backward<Bf16>}},
      {"subsamplePad", x, y, check_subsample, {subsample_pad<float>, subsample_pad<double>, subsample_pad<Bf16>}},
      {"subsamplePadBackward",
       gy,
       gx,
       check_subsample_backward,
       {subsample_pad_backward<float>, subsample_pad_backward<double>, subsample_pad_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
