// sigmoid, tanh, leakyRelu, clamp, hardSigmoid, hardSwish, gelu and silu, and their gradients.
#include <cmath>
#include <numbers>

#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

void check_value(const Request& request) { request.output_is(0, request.input(0)); }

void check_gradient(const Request& request) {
  request.input_is(1, request.input(0));
  request.output_is(0, request.input(0));
}

void check_leak(const Request& request) {
  const double slope = request.attributes().number("slope");
  if (!(slope >= 0 && slope < 0x1p31)) request.refuse("slope", std::to_string(slope), "give a number of at least 0");
}

void check_leaky_value(const Request& request) {
  check_value(request);
  check_leak(request);
}

void check_leaky_gradient(const Request& request) {
  check_gradient(request);
  check_leak(request);
}

void check_bounds(const Request& request) {
  const double least = request.attributes().number("least"), most = request.attributes().number("most");
  if (!(least < most && least > -0x1p127 && most < 0x1p127)) request.refuse("most", std::to_string(most), "give a number above least");
}

void check_clamp_value(const Request& request) {
  check_value(request);
  check_bounds(request);
}

void check_clamp_gradient(const Request& request) {
  check_gradient(request);
  check_bounds(request);
}

void check_gelu_value(const Request& request) {
  check_value(request);
  request.whole("approximate", 0, 1);
}

void check_gelu_gradient(const Request& request) {
  check_gradient(request);
  request.whole("approximate", 0, 1);
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Each function's value at x, and its derivative: of y for sigmoid, tanh, leakyRelu and clamp, of x for the others.
using Function = double (*)(double at, const Attributes& attributes);

double sigmoid(double x, const Attributes&) { return logistic(x); }
double sigmoid_slope(double y, const Attributes&) { return y * (1 - y); }
double tanh(double x, const Attributes&) { return std::tanh(x); }
double tanh_slope(double y, const Attributes&) { return 1 - y * y; }
double leaky_relu(double x, const Attributes& attributes) { return x < 0 ? x * attributes.number("slope") : x; }
double leaky_relu_slope(double y, const Attributes& attributes) { return y > 0 ? 1 : attributes.number("slope"); }
double clamp(double x, const Attributes& attributes) {
  const double least = attributes.number("least"), most = attributes.number("most");
  return x < least ? least : x > most ? most : x;
}
double clamp_slope(double y, const Attributes& attributes) {
  return y > attributes.number("least") && y < attributes.number("most") ? 1 : 0;
}
double hard_sigmoid(double x, const Attributes&) { return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6; }
double hard_sigmoid_slope(double x, const Attributes&) { return x > -3 && x < 3 ? 1.0 / 6 : 0; }
double hard_swish(double x, const Attributes& attributes) { return x * hard_sigmoid(x, attributes); }
double hard_swish_slope(double x, const Attributes&) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5; }
double silu(double x, const Attributes&) { return x * logistic(x); }
double silu_slope(double x, const Attributes&) { return logistic(x) * (1 + x * (1 - logistic(x))); }

constexpr double kCubic = 0.044715;
const double kRoot = std::sqrt(2 / std::numbers::pi);

// Without the cancellation that 1 + tanh(u) has for negative u.
double half_of_one_plus_tanh(double u) { return logistic(2 * u); }

double gelu(double x, const Attributes& attributes) {
  if (attributes.number("approximate") != 0) return x * half_of_one_plus_tanh(kRoot * (x + kCubic * x * x * x));
  return x * std::erfc(-x / std::numbers::sqrt2) / 2;
}

double gelu_slope(double x, const Attributes& attributes) {
  if (attributes.number("approximate") != 0) {
    const double share = half_of_one_plus_tanh(kRoot * (x + kCubic * x * x * x));
    return share + x * 2 * share * (1 - share) * kRoot * (1 + 3 * kCubic * x * x);
  }
  return std::erfc(-x / std::numbers::sqrt2) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

template <class T, Function function> void value(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();
  T* y = op.outputs[0].as<T>();
  for (int64_t i = 0; i < elements_of(op.inputs[0].shape()); ++i) y[i] = rounded<T>(function(x[i], op.attributes));
}

template <class T, Function slope> void gradient(const OperatorSpec& op, const StepContext&) {
  const T *at = op.inputs[0].as<T>(), *gy = op.inputs[1].as<T>();
  T* gx = op.outputs[0].as<T>();
  for (int64_t i = 0; i < elements_of(op.inputs[0].shape()); ++i) gx[i] = rounded<T>(double{gy[i]} * slope(at[i], op.attributes));
}

using Check = void (*)(const Request&);

template <Function function> Operator value_of(const char* kind, Check check) {
  return {kind,
          {{"x", Role::activation}},
          {{"y", Role::activation}},
          check,
          {value<float, function>, value<double, function>, value<Bf16, function>},
          {{0, 0}}};
}

template <Function slope> Operator gradient_of(const char* kind, const char* at, Check check) {
  return {kind,
          {{at, Role::activation}, {"gy", Role::activation}},
          {{"gx", Role::activation}},
          check,
          {gradient<float, slope>, gradient<double, slope>, gradient<Bf16, slope>},
          {{0, 1}, {0, 0}}};
}

std::vector<Operator> operators() {
  return {
      value_of<sigmoid>("sigmoid", check_value),
      gradient_of<sigmoid_slope>("sigmoidBackward", "y", check_gradient),
      value_of<tanh>("tanh", check_value),
      gradient_of<tanh_slope>("tanhBackward", "y", check_gradient),
      value_of<leaky_relu>("leakyRelu", check_leaky_value),
      gradient_of<leaky_relu_slope>("leakyReluBackward", "y", check_leaky_gradient),
      value_of<clamp>("clamp", check_clamp_value),
      gradient_of<clamp_slope>("clampBackward", "y", check_clamp_gradient),
      value_of<hard_sigmoid>("hardSigmoid", check_value),
      gradient_of<hard_sigmoid_slope>("hardSigmoidBackward", "x", check_gradient),
      value_of<hard_swish>("hardSwish", check_value),
      gradient_of<hard_swish_slope>("hardSwishBackward", "x", check_gradient),
      value_of<silu>("silu", check_value),
      gradient_of<silu_slope>("siluBackward", "x", check_gradient),
      value_of<gelu>("gelu", check_gelu_value),
      gradient_of<gelu_slope>("geluBackward", "x", check_gelu_gradient),
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
