// sigmoid, tanh, leakyRelu, clamp, hardSigmoid, hardSwish, gelu and silu, and their gradients: gx = gy * slope, the slope of y for the
// first four, of x for the others.
#include <cmath>

#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"

namespace arbalest::cuda {
namespace {

EVERYWHERE inline float logistic(float x) { return 1 / (1 + expf(-x)); }

constexpr float kRoot = 0.7978845608f;  // sqrt(2 / pi)
constexpr float kCubic = 0.044715f;

struct Sigmoid {
  EVERYWHERE float value(float x) const { return logistic(x); }
  EVERYWHERE float slope(float y) const { return y * (1 - y); }
};

struct Tanh {
  EVERYWHERE float value(float x) const { return tanhf(x); }
  EVERYWHERE float slope(float y) const { return 1 - y * y; }
};

struct LeakyRelu {
  float leak;
  EVERYWHERE float value(float x) const { return x < 0 ? x * leak : x; }
  EVERYWHERE float slope(float y) const { return y > 0 ? 1 : leak; }
};

struct Clamp {
  float least, most;
  EVERYWHERE float value(float x) const { return x < least ? least : x > most ? most : x; }
  EVERYWHERE float slope(float y) const { return y > least && y < most ? 1 : 0; }
};

// The straight lines that stand for the sigmoid and for x * sigmoid(x) in MobileNetV3 (Howard et al., ICCV 2019).
struct HardSigmoid {
  EVERYWHERE float value(float x) const { return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) * (1.0f / 6); }
  EVERYWHERE float slope(float x) const { return x > -3 && x < 3 ? 1.0f / 6 : 0; }
};

struct HardSwish {
  EVERYWHERE float value(float x) const { return x * HardSigmoid{}.value(x); }
  EVERYWHERE float slope(float x) const { return x <= -3 ? 0 : x >= 3 ? 1 : x * (1.0f / 3) + 0.5f; }
};

struct Silu {
  EVERYWHERE float value(float x) const { return x * logistic(x); }
  EVERYWHERE float slope(float x) const { return logistic(x) * (1 + x * (1 - logistic(x))); }
};

struct Gelu {
  // Twice a large number would be infinite.
  EVERYWHERE float value(float x) const { return x * (erfcf(-x * 0.7071067812f) / 2); }
  EVERYWHERE float slope(float x) const { return erfcf(-x * 0.7071067812f) / 2 + x * expf(-x * x / 2) * 0.3989422804f; }
};

// As logistic(2u) it has not the cancellation that 1 + tanh(u) has for negative u.
struct GeluByTanh {
  static constexpr float kLarge = 1e9f;  // the share is 0 or 1 there
  EVERYWHERE static float share(float x) { return logistic(2 * kRoot * (x + kCubic * x * x * x)); }
  EVERYWHERE float value(float x) const { return x * share(x); }
  EVERYWHERE float slope(float x) const {
    // Twice a large x, and its square, would be infinite, and are factors of 0.
    const float s = share(x), bounded = x > kLarge ? kLarge : x < -kLarge ? -kLarge : x;
    return s + x * s * (1 - s) * 2 * kRoot * (1 + 3 * kCubic * bounded * bounded);
  }
};

template <class T, int V, class F> struct Value {
  const T* x;
  T* y;  // may be x
  F function;

  EVERYWHERE void operator()(int64_t i) const {
    Pack<T, V> values = read<T, V>(x, i);
    for (int v = 0; v < V; ++v) values.at[v] = T(function.value(float(values.at[v])));
    write(y, i, values);
  }
};

template <class T, int V, class F> struct Gradient {
  const T* at;
  const T* gy;
  T* gx;  // may be either
  F function;

  EVERYWHERE void operator()(int64_t i) const {
    const Pack<T, V> where = read<T, V>(at, i);
    Pack<T, V> gradients = read<T, V>(gy, i);
    for (int v = 0; v < V; ++v) gradients.at[v] = T(float(gradients.at[v]) * function.slope(float(where.at[v])));
    write(gx, i, gradients);
  }
};

template <class F> MadeKernel make(const OperatorSpec& spec, DeviceStream& stream, bool backward, F function) {
  const int64_t elements = elements_of(spec.inputs[0].shape());
  return by_packs(spec.precision, elements, [&]<class P>(P) -> MadeKernel {
    using T = typename P::T;
    if (backward) {
      const Gradient<T, P::V, F> program{spec.inputs[0].as<T>(), spec.inputs[1].as<T>(), spec.outputs[0].as<T>(), function};
      return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
    }
    const Value<T, P::V, F> program{spec.inputs[0].as<T>(), spec.outputs[0].as<T>(), function};
    return queued([&stream, elements, program] { each(stream, elements / P::V, program); });
  });
}

MadeKernel make_activation_function(const OperatorSpec& spec, DeviceStream& stream) {
  const bool backward = spec.kind.ends_with("Backward");
  const std::string kind = backward ? spec.kind.substr(0, spec.kind.size() - 8) : spec.kind;
  if (kind == "sigmoid") return make(spec, stream, backward, Sigmoid{});
  if (kind == "tanh") return make(spec, stream, backward, Tanh{});
  if (kind == "silu") return make(spec, stream, backward, Silu{});
  if (kind == "hardSigmoid") return make(spec, stream, backward, HardSigmoid{});
  if (kind == "hardSwish") return make(spec, stream, backward, HardSwish{});
  if (kind == "leakyRelu") return make(spec, stream, backward, LeakyRelu{static_cast<float>(spec.attributes.number("slope"))});
  if (kind == "clamp") {
    const Attributes& bounds = spec.attributes;
    return make(spec, stream, backward, Clamp{static_cast<float>(bounds.number("least")), static_cast<float>(bounds.number("most"))});
  }
  return flag(spec.attributes, "approximate") ? make(spec, stream, backward, GeluByTanh{}) : make(spec, stream, backward, Gelu{});
}

using enum Port;
const Registered kOperators{{
    {"sigmoid", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"sigmoidBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"tanh", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"tanhBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"leakyRelu", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"leakyReluBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"clamp", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"clampBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"hardSigmoid", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"hardSigmoidBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"hardSwish", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"hardSwishBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"gelu", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"geluBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
    {"silu", {alike}, {alike}, make_activation_function, {{0, 0}}},
    {"siluBackward", {alike, alike}, {alike}, make_activation_function, {{0, 1}, {0, 0}}},
}};

}  // namespace
}  // namespace arbalest::cuda
