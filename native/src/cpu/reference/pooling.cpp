// Maximum and average over sliding windows, and their gradients.
#include <cmath>

#include "cpu/reference/window.h"

namespace arbalest::reference {
namespace {

Shape pooled(const Request& request, const Shape& x) {
  const auto kernel = request.whole_pair("kernel", 1), padding = request.whole_pair("padding", 0);
  request.whole_pair("stride", 1);
  if (padding[0] >= kernel[0] || padding[1] >= kernel[1]) {
    request.refuse("padding", shown({padding[0], padding[1]}), "make it less than the kernel of " + shown({kernel[0], kernel[1]}));
  }
  const Window window(request.attributes());
  const Shape y{x[0], x[1], window.extent(0, x[2]), window.extent(1, x[3])};
  if (y[2] < 1 || y[3] < 1) request.refuse("image", shown(x), "make it, with its padding, at least as large as the kernel");
  return y;
}

// A position must fit into a byte.
void check_kernel_area(const Request& request) {
  const auto kernel = request.whole_pair("kernel", 1);
  if (kernel[0] > 255 || kernel[1] > 255 || kernel[0] * kernel[1] > 255) {
    request.refuse("kernel", shown({kernel[0], kernel[1]}), "let it cover at most 255 pixels");
  }
}

void check_maximum(const Request& request) {
  check_kernel_area(request);
  request.input_rank(0, 4);
  const Shape y = pooled(request, request.input(0));
  request.output_is(0, y);
  request.output_is(1, y);
}

void check_maximum_backward(const Request& request) {
  check_kernel_area(request);
  request.output_rank(0, 4);
  const Shape y = pooled(request, request.output(0));
  request.input_is(0, y);
  request.input_is(1, y);
}

void check_average(const Request& request) {
  request.input_rank(0, 4);
  request.output_is(0, pooled(request, request.input(0)));
}

void check_average_backward(const Request& request) {
  request.output_rank(0, 4);
  request.input_is(0, pooled(request, request.output(0)));
}

// The first maximum in row-major order wins, and a NaN is greater than all: PyTorch's rule. Padding never wins.
template <class T> void max_pool(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape()), y(op.outputs[0].shape());
  const T* px = op.inputs[0].as<T>();               // (N, C, H, W)
  T* py = op.outputs[0].as<T>();                    // (N, C, OH, OW)
  uint8_t* position = op.outputs[1].as<uint8_t>();  // (N, C, OH, OW) or null: kh * KW + kw
  const Window window(op.attributes);
  for (int64_t n = 0; n < y.n; ++n) {
    for (int64_t c = 0; c < y.c; ++c) {
      for (int64_t oh = 0; oh < y.h; ++oh) {
        for (int64_t ow = 0; ow < y.w; ++ow) {
          double best = 0;
          int64_t where = -1;
          for (int64_t kh = 0; kh < window.kernel[0]; ++kh) {
            const int64_t h = window.input_of(0, oh, kh);
            if (h < 0 || h >= x.h) continue;
            for (int64_t kw = 0; kw < window.kernel[1]; ++kw) {
              const int64_t v = window.input_of(1, ow, kw);
              if (v < 0 || v >= x.w) continue;
              const double value = px[x.at(n, c, h, v)];
              if (where >= 0 && !(value > best) && !(std::isnan(value) && !std::isnan(best))) continue;
              best = value;
              where = kh * window.kernel[1] + kw;
            }
          }
          py[y.at(n, c, oh, ow)] = rounded<T>(best);
          if (position) position[y.at(n, c, oh, ow)] = static_cast<uint8_t>(where);
        }
      }
    }
  }
}

template <class T> void max_pool_backward(const OperatorSpec& op, const StepContext&) {
  const Image y(op.inputs[0].shape()), x(op.outputs[0].shape());
  const uint8_t* position = op.inputs[0].as<uint8_t>();  // (N, C, OH, OW)
  const T* pgy = op.inputs[1].as<T>();                   // (N, C, OH, OW)
  T* pgx = op.outputs[0].as<T>();                        // (N, C, H, W)
  const Window window(op.attributes);
  for (int64_t n = 0; n < x.n; ++n) {
    for (int64_t c = 0; c < x.c; ++c) {
      for (int64_t h = 0; h < x.h; ++h) {
        for (int64_t v = 0; v < x.w; ++v) {
          double sum = 0;
          for (int64_t kh = 0; kh < window.kernel[0]; ++kh) {
            const int64_t oh = window.output_of(0, h, kh, y.h);
            if (oh < 0) continue;
            for (int64_t kw = 0; kw < window.kernel[1]; ++kw) {
              const int64_t ow = window.output_of(1, v, kw, y.w);
              if (ow >= 0 && position[y.at(n, c, oh, ow)] == kh * window.kernel[1] + kw) sum += pgy[y.at(n, c, oh, ow)];
            }
          }
          pgx[x.at(n, c, h, v)] = rounded<T>(sum);
        }
      }
    }
  }
}

template <class T> void average_pool(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape()), y(op.outputs[0].shape());
  const T* px = op.inputs[0].as<T>();  // (N, C, H, W)
  T* py = op.outputs[0].as<T>();       // (N, C, OH, OW)
  const Window window(op.attributes);
  const double area = static_cast<double>(window.kernel[0] * window.kernel[1]);
  for (int64_t n = 0; n < y.n; ++n) {
    for (int64_t c = 0; c < y.c; ++c) {
      for (int64_t oh = 0; oh < y.h; ++oh) {
        for (int64_t ow = 0; ow < y.w; ++ow) {
          double sum = 0;
          for (int64_t kh = 0; kh < window.kernel[0]; ++kh) {
            const int64_t h = window.input_of(0, oh, kh);
            if (h < 0 || h >= x.h) continue;
            for (int64_t kw = 0; kw < window.kernel[1]; ++kw) {
              const int64_t v = window.input_of(1, ow, kw);
              if (v >= 0 && v < x.w) sum += px[x.at(n, c, h, v)];
            }
          }
          py[y.at(n, c, oh, ow)] = rounded<T>(sum / area);
        }
      }
    }
  }
}

template <class T> void average_pool_backward(const OperatorSpec& op, const StepContext&) {
  const Image y(op.inputs[0].shape()), x(op.outputs[0].shape());
  const T* pgy = op.inputs[0].as<T>();  // (N, C, OH, OW)
  T* pgx = op.outputs[0].as<T>();       // (N, C, H, W)
  const Window window(op.attributes);
  const double area = static_cast<double>(window.kernel[0] * window.kernel[1]);
  for (int64_t n = 0; n < x.n; ++n) {
    for (int64_t c = 0; c < x.c; ++c) {
      for (int64_t h = 0; h < x.h; ++h) {
        for (int64_t v = 0; v < x.w; ++v) {
          double sum = 0;
          for (int64_t kh = 0; kh < window.kernel[0]; ++kh) {
            const int64_t oh = window.output_of(0, h, kh, y.h);
            if (oh < 0) continue;
            for (int64_t kw = 0; kw < window.kernel[1]; ++kw) {
              const int64_t ow = window.output_of(1, v, kw, y.w);
              if (ow >= 0) sum += pgy[y.at(n, c, oh, ow)];
            }
          }
          pgx[x.at(n, c, h, v)] = rounded<T>(sum / area);
        }
      }
    }
  }
}

std::vector<Operator> operators() {
  using enum Role;
  const std::vector<Port> x{{"x", activation}}, y{{"y", activation}}, gy{{"gy", activation}}, gx{{"gx", activation}};
  return {
      {"maxPool2d",
       x,
       {{"y", activation}, {"position", position, true}},
       check_maximum,
       {max_pool<float>, max_pool<double>, max_pool<Bf16>}},
      {"maxPool2dBackward",
       {{"position", position}, {"gy", activation}},
       gx,
       check_maximum_backward,
       {max_pool_backward<float>, max_pool_backward<double>, max_pool_backward<Bf16>}},
      {"avgPool2d", x, y, check_average, {average_pool<float>, average_pool<double>, average_pool<Bf16>}},
      {"avgPool2dBackward",
       gy,
       gx,
       check_average_backward,
       {average_pool_backward<float>, average_pool_backward<double>, average_pool_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
