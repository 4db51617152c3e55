// conv2d and its gradients: cross-correlation over (N, C, H, W) with weights (O, C / groups, KH, KW), as PyTorch defines it.
#include <algorithm>

#include "cpu/reference/window.h"

namespace arbalest::reference {
namespace {

Window window_of(const Shape& weights, const Attributes& attributes) { return Window({weights[2], weights[3]}, attributes); }

int64_t groups_of(const Attributes& attributes) { return static_cast<int64_t>(attributes.number("groups", 1)); }

// The shape of y, once x (N, C, H, W), w (O, C / groups, KH, KW) and the attributes are known to agree.
Shape result_of(const Request& request, const Shape& x, const Shape& w) {
  request.whole_pair("stride", 1);
  request.whole_pair("padding", 0);
  if (request.attributes().has("dilation")) request.whole_pair("dilation", 1);
  const int64_t groups = request.attributes().has("groups") ? request.whole("groups", 1, w[0]) : 1;
  if (x[1] != w[1] * groups || w[0] % groups != 0) {
    request.refuse("weights of " + std::to_string(groups) + " groups", shown(w) + " for channels " + std::to_string(x[1]),
                   "give (outputs, channels / groups, rows, columns), both counts divisible by groups");
  }
  const Window window = window_of(w, request.attributes());
  const Shape y{x[0], w[0], window.extent(0, x[2]), window.extent(1, x[3])};
  if (y[2] < 1 || y[3] < 1) request.refuse("image", shown(x), "make it, with its padding, at least as large as the kernel of " + shown(w));
  return y;
}

void check_forward(const Request& request) {
  request.input_rank(0, 4);
  request.input_rank(1, 4);
  const Shape y = result_of(request, request.input(0), request.input(1));
  request.input_is(2, {y[1]});
  request.output_is(0, y);
}

void check_backward_data(const Request& request) {
  request.input_rank(1, 4);
  request.output_rank(0, 4);
  request.input_is(0, result_of(request, request.output(0), request.input(1)));
}

void check_backward_weights(const Request& request) {
  request.input_rank(0, 4);
  request.output_rank(0, 4);
  const Shape y = result_of(request, request.input(0), request.output(0));
  request.input_is(1, y);
  request.output_is(1, {y[1]});
}

template <class T> void conv2d(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape()), w(op.inputs[1].shape()), y(op.outputs[0].shape());
  const T* px = op.inputs[0].as<T>();              // (N, C, H, W)
  const Wide<T>* pw = op.inputs[1].as<Wide<T>>();  // (O, C / groups, KH, KW)
  const Wide<T>* pb = op.inputs[2].as<Wide<T>>();  // (O) or null
  T* py = op.outputs[0].as<T>();                   // (N, O, OH, OW)
  const Window window = window_of(op.inputs[1].shape(), op.attributes);
  const int64_t outputs_a_group = w.n / groups_of(op.attributes);
  const bool relu = op.attributes.number("relu", 0) != 0;
  for (int64_t n = 0; n < y.n; ++n) {
    for (int64_t o = 0; o < y.c; ++o) {
      const int64_t first = o / outputs_a_group * w.c;
      for (int64_t oh = 0; oh < y.h; ++oh) {
        for (int64_t ow = 0; ow < y.w; ++ow) {
          double sum = pb ? pb[o] : 0.0;
          for (int64_t i = 0; i < w.c; ++i) {
            for (int64_t kh = 0; kh < w.h; ++kh) {
              const int64_t h = window.input_of(0, oh, kh);
              if (h < 0 || h >= x.h) continue;
              for (int64_t kw = 0; kw < w.w; ++kw) {
                const int64_t v = window.input_of(1, ow, kw);
                if (v < 0 || v >= x.w) continue;
                sum += double{px[x.at(n, first + i, h, v)]} * double{pw[w.at(o, i, kh, kw)]};
              }
            }
          }
          py[y.at(n, o, oh, ow)] = rounded<T>(relu && sum < 0 ? 0.0 : sum);
        }
      }
    }
  }
}

template <class T> void conv2d_backward_data(const OperatorSpec& op, const StepContext&) {
  const Image gy(op.inputs[0].shape()), w(op.inputs[1].shape()), gx(op.outputs[0].shape());
  const T* pgy = op.inputs[0].as<T>();             // (N, O, OH, OW)
  const Wide<T>* pw = op.inputs[1].as<Wide<T>>();  // (O, C / groups, KH, KW)
  T* pgx = op.outputs[0].as<T>();                  // (N, C, H, W)
  const Window window = window_of(op.inputs[1].shape(), op.attributes);
  const int64_t outputs_a_group = w.n / groups_of(op.attributes);
  for (int64_t n = 0; n < gx.n; ++n) {
    for (int64_t c = 0; c < gx.c; ++c) {
      const int64_t first = c / w.c * outputs_a_group;
      for (int64_t h = 0; h < gx.h; ++h) {
        for (int64_t v = 0; v < gx.w; ++v) {
          double sum = 0;
          for (int64_t o = first; o < first + outputs_a_group; ++o) {
            for (int64_t kh = 0; kh < w.h; ++kh) {
              const int64_t oh = window.output_of(0, h, kh, gy.h);
              if (oh < 0) continue;
              for (int64_t kw = 0; kw < w.w; ++kw) {
                const int64_t ow = window.output_of(1, v, kw, gy.w);
                if (ow < 0) continue;
                sum += double{pgy[gy.at(n, o, oh, ow)]} * double{pw[w.at(o, c % w.c, kh, kw)]};
              }
            }
          }
          pgx[gx.at(n, c, h, v)] = rounded<T>(sum);
        }
      }
    }
  }
}

template <class T> void conv2d_backward_weights(const OperatorSpec& op, const StepContext&) {
  const Image x(op.inputs[0].shape()), gy(op.inputs[1].shape()), gw(op.outputs[0].shape());
  const T* px = op.inputs[0].as<T>();          // (N, C, H, W)
  const T* pgy = op.inputs[1].as<T>();         // (N, O, OH, OW)
  Wide<T>* pgw = op.outputs[0].as<Wide<T>>();  // (O, C / groups, KH, KW)
  Wide<T>* pgb = op.outputs[1].as<Wide<T>>();  // (O) or null
  const Window window = window_of(op.outputs[0].shape(), op.attributes);
  const int64_t outputs_a_group = gw.n / groups_of(op.attributes);
  for (int64_t o = 0; o < gw.n; ++o) {
    const int64_t first = o / outputs_a_group * gw.c;
    for (int64_t i = 0; i < gw.c; ++i) {
      for (int64_t kh = 0; kh < gw.h; ++kh) {
        for (int64_t kw = 0; kw < gw.w; ++kw) {
          double sum = 0;
          for (int64_t n = 0; n < x.n; ++n) {
            for (int64_t oh = 0; oh < gy.h; ++oh) {
              const int64_t h = window.input_of(0, oh, kh);
              if (h < 0 || h >= x.h) continue;
              for (int64_t ow = 0; ow < gy.w; ++ow) {
                const int64_t v = window.input_of(1, ow, kw);
                if (v < 0 || v >= x.w) continue;
                sum += double{px[x.at(n, first + i, h, v)]} * double{pgy[gy.at(n, o, oh, ow)]};
              }
            }
          }
          pgw[gw.at(o, i, kh, kw)] = rounded<Wide<T>>(sum);
        }
      }
    }
    if (!pgb) continue;
    double sum = 0;
    for (int64_t n = 0; n < gy.n; ++n) {
      for (int64_t s = 0; s < gy.h * gy.w; ++s) sum += pgy[gy.at(n, o, 0, 0) + s];
    }
    pgb[o] = rounded<Wide<T>>(sum);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"conv2d",
       {{"x", activation}, {"w", wide}, {"b", wide, true}},
       {{"y", activation}},
       check_forward,
       {conv2d<float>, conv2d<double>, conv2d<Bf16>}},
      {"conv2dBackwardData",
       {{"gy", activation}, {"w", wide}},
       {{"gx", activation}},
       check_backward_data,
       {conv2d_backward_data<float>, conv2d_backward_data<double>, conv2d_backward_data<Bf16>}},
      {"conv2dBackwardWeights",
       {{"x", activation}, {"gy", activation}},
       {{"gw", wide}, {"gb", wide, true}},
       check_backward_weights,
       {conv2d_backward_weights<float>, conv2d_backward_weights<double>, conv2d_backward_weights<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
