// linear and its gradients: y = x w' + b with x (N, F), w (O, F), b (O).
#include "operator.h"

namespace arbalest::reference {
namespace {

void check_forward(const Request& request) {
  request.input_rank(0, 2);
  request.input_rank(1, 2);
  const Shape &x = request.input(0), &w = request.input(1);
  request.input_is(1, {w[0], x[1]});
  request.input_is(2, {w[0]});
  request.output_is(0, {x[0], w[0]});
}

void check_backward_data(const Request& request) {
  request.input_rank(0, 2);
  request.input_rank(1, 2);
  const Shape &gy = request.input(0), &w = request.input(1);
  request.input_is(1, {gy[1], w[1]});
  request.output_is(0, {gy[0], w[1]});
}

void check_backward_weights(const Request& request) {
  request.input_rank(0, 2);
  request.input_rank(1, 2);
  const Shape &x = request.input(0), &gy = request.input(1);
  request.input_is(1, {x[0], gy[1]});
  request.output_is(0, {gy[1], x[1]});
  request.output_is(1, {gy[1]});
}

template <class T> void linear(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();              // (N, F)
  const Wide<T>* w = op.inputs[1].as<Wide<T>>();  // (O, F)
  const Wide<T>* b = op.inputs[2].as<Wide<T>>();  // (O) or null
  T* y = op.outputs[0].as<T>();                   // (N, O)
  const int64_t N = op.inputs[0].shape()[0], F = op.inputs[0].shape()[1], O = op.inputs[1].shape()[0];
  const bool relu = op.attributes.number("relu", 0) != 0;
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t o = 0; o < O; ++o) {
      double sum = b ? b[o] : 0.0;
      for (int64_t f = 0; f < F; ++f) sum += double{x[n * F + f]} * double{w[o * F + f]};
      y[n * O + o] = rounded<T>(relu && sum < 0 ? 0.0 : sum);
    }
  }
}

template <class T> void linear_backward_data(const OperatorSpec& op, const StepContext&) {
  const T* gy = op.inputs[0].as<T>();             // (N, O)
  const Wide<T>* w = op.inputs[1].as<Wide<T>>();  // (O, F)
  T* gx = op.outputs[0].as<T>();                  // (N, F)
  const int64_t N = op.inputs[0].shape()[0], O = op.inputs[0].shape()[1], F = op.inputs[1].shape()[1];
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t f = 0; f < F; ++f) {
      double sum = 0;
      for (int64_t o = 0; o < O; ++o) sum += double{gy[n * O + o]} * double{w[o * F + f]};
      gx[n * F + f] = rounded<T>(sum);
    }
  }
}

template <class T> void linear_backward_weights(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();          // (N, F)
  const T* gy = op.inputs[1].as<T>();         // (N, O)
  Wide<T>* gw = op.outputs[0].as<Wide<T>>();  // (O, F)
  Wide<T>* gb = op.outputs[1].as<Wide<T>>();  // (O) or null
  const int64_t N = op.inputs[0].shape()[0], F = op.inputs[0].shape()[1], O = op.inputs[1].shape()[1];
  for (int64_t o = 0; o < O; ++o) {
    for (int64_t f = 0; f < F; ++f) {
      double sum = 0;
      for (int64_t n = 0; n < N; ++n) sum += double{gy[n * O + o]} * double{x[n * F + f]};
      gw[o * F + f] = rounded<Wide<T>>(sum);
    }
    if (!gb) continue;
    double sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += gy[n * O + o];
    gb[o] = rounded<Wide<T>>(sum);
  }
}

}  // namespace

std::vector<Operator> linear_operators() {
  using enum Role;
  return {
      {"linear",
       {{"x", activation}, {"w", wide}, {"b", wide, true}},
       {{"y", activation}},
       check_forward,
       {linear<float>, linear<double>, linear<Bf16>}},
      {"linearBackwardData",
       {{"gy", activation}, {"w", wide}},
       {{"gx", activation}},
       check_backward_data,
       {linear_backward_data<float>, linear_backward_data<double>, linear_backward_data<Bf16>}},
      {"linearBackwardWeights",
       {{"x", activation}, {"gy", activation}},
       {{"gw", wide}, {"gb", wide, true}},
       check_backward_weights,
       {linear_backward_weights<float>, linear_backward_weights<double>, linear_backward_weights<Bf16>}},
  };
}

}  // namespace arbalest::reference
