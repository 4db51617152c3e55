// sigmoid, tanh, leakyRelu, clamp, hardSigmoid, hardSwish, gelu and silu, element by element over memory as it lies, and their gradients.
#include "cpu/kernels/activation.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/normal_distribution.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

// Each function returns y of x; `slope` is dy/dx as a function of y or of x, whichever the backward operator reads. T is the type in which
// the result is stored.

struct Sigmoid {
  explicit Sigmoid(const Attributes&) {}
  static constexpr bool kKeepsZero = false;
  template <class T> static Floats value(Floats x) { return sigmoid<T>(x); }
  template <class T> static Floats slope(Floats y) { return y * (1.0f - y); }
};

struct Tanh {
  explicit Tanh(const Attributes&) {}
  static constexpr bool kKeepsZero = true;
  template <class T> static Floats value(Floats x) { return hyperbolic_tangent<T>(x); }
  template <class T> static Floats slope(Floats y) { return 1.0f - y * y; }
};

struct LeakyRelu {
  explicit LeakyRelu(const Attributes& attributes) : leak(static_cast<float>(attributes.number("slope"))) {}
  static constexpr bool kKeepsZero = true;
  template <class T> Floats value(Floats x) const { return x < 0.0f ? x * leak : x; }
  template <class T> Floats slope(Floats y) const { return y > 0.0f ? all(1.0f) : all(leak); }
  float leak;
};

struct Clamp {
  explicit Clamp(const Attributes& attributes)
      : least(static_cast<float>(attributes.number("least"))), most(static_cast<float>(attributes.number("most"))) {}
  static constexpr bool kKeepsZero = false;
  template <class T> Floats value(Floats x) const {
    const Floats raised = x < least ? all(least) : x;
    return raised > most ? all(most) : raised;
  }
  template <class T> Floats slope(Floats y) const {
    const Floats below = y < most ? all(1.0f) : all(0.0f);
    return y > least ? below : all(0.0f);
  }
  float least, most;
};

// The straight lines that stand for the sigmoid and for x * sigmoid(x) in MobileNetV3 (Howard et al., ICCV 2019).
struct HardSigmoid {
  explicit HardSigmoid(const Attributes&) {}
  static constexpr bool kKeepsZero = false;
  template <class T> static Floats value(Floats x) { return share(x); }
  template <class T> static Floats slope(Floats x) { return magnitude_of(x) < 3.0f ? all(1.0f / 6) : all(0.0f); }
  static Floats share(Floats x) {
    const Floats raised = x + 3.0f, positive = raised < 0.0f ? all(0.0f) : raised;
    return (positive > 6.0f ? all(6.0f) : positive) * (1.0f / 6);
  }
};

struct HardSwish {
  explicit HardSwish(const Attributes&) {}
  static constexpr bool kKeepsZero = true;
  template <class T> static Floats value(Floats x) { return x * HardSigmoid::share(x); }
  template <class T> static Floats slope(Floats x) {
    const Floats below = x <= -3.0f ? all(0.0f) : x * (1.0f / 3) + 0.5f;
    return x >= 3.0f ? all(1.0f) : below;
  }
};

struct Silu {
  explicit Silu(const Attributes&) {}
  static constexpr bool kKeepsZero = true;
  template <class T> static Floats value(Floats x) { return x * sigmoid<T>(x); }
  template <class T> static Floats slope(Floats x) {
    const Shares s = shares_of<T>(x);
    return s.below * (1.0f + x * s.above);
  }
};

// x times the standard normal distribution's share below x, or the share's approximation by a hyperbolic tangent (Hendrycks and Gimpel,
// "Gaussian error linear units", 2016), which is a sigmoid of twice its argument.
struct Gelu {
  explicit Gelu(const Attributes& attributes) : approximate(attributes.number("approximate") != 0) {}
  static constexpr bool kKeepsZero = true;
  static constexpr float kRoot = 0.797884561f, kCubic = 0.044715f;  // sqrt(2 / pi)
  static constexpr float kLarge = 1e9f;                             // one of the shares is 0 there

  template <class T> Floats value(Floats x) const {
    if (approximate) return x * shares<T>(x).below;
    return x * standard_normal<T>(x).cumulative;
  }

  template <class T> Floats slope(Floats x) const {
    if (approximate) {
      const Shares s = shares<T>(x);
      // The square of a large x would be infinite, and is a factor of 0.
      const Floats bounded = clamped(x, kLarge);
      return s.below + x * s.below * s.above * (2.0f * kRoot) * (1.0f + 3.0f * kCubic * bounded * bounded);
    }
    const Normal normal = standard_normal<T>(x);
    return normal.cumulative + x * normal.density;
  }

  // The sigmoid of 2 kRoot (x + kCubic x^3), and 1 less that.
  template <class T> static Shares shares(Floats x) { return shares_of<T>(2.0f * kRoot * x * (1.0f + kCubic * x * x)); }

  bool approximate;
};

template <class T, class Function> class Forward final : public Kernel {
 public:
  explicit Forward(const OperatorSpec& spec)
      : function_(spec.attributes),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)),
        spec_(spec.inputs[0].spec),
        elements_(elements_in_memory(spec_)) {}

  void run(const StepContext&) override {
    for_all_registers(elements_, [f = function_, x = x_, y = y_]<bool Partial>(int64_t at, int width) {
      store<Partial>(y + at, f.template value<T>(load<Partial>(x + at, width)), width);
    });
    if (!Function::kKeepsZero && spec_.layout != kPlain) clear_padding(activation_of(spec_), y_);
  }

 private:
  const Function function_;
  const T* x_;
  T* y_;
  const TensorSpec spec_;
  const int64_t elements_;
};

template <class T, class Function> class Backward final : public Kernel {
 public:
  explicit Backward(const OperatorSpec& spec)
      : function_(spec.attributes),
        from_(input<T>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gx_(output<T>(spec, 0)),
        elements_(elements_in_memory(spec.inputs[0].spec)) {}

  void run(const StepContext&) override {
    for_all_registers(elements_, [f = function_, from = from_, gy = gy_, gx = gx_]<bool Partial>(int64_t at, int width) {
      store<Partial>(gx + at, load<Partial>(gy + at, width) * f.template slope<T>(load<Partial>(from + at, width)), width);
    });
  }

 private:
  const Function function_;
  const T *from_, *gy_;
  T* gx_;
  const int64_t elements_;
};

template <class Function> struct Typed {
  template <class T> using Value = Forward<T, Function>;
  template <class T> using Gradient = Backward<T, Function>;
};

void check_value(const Shapes& shapes) { shapes.output_is(0, shapes.input(0)); }

void check_gradient(const Shapes& shapes) {
  shapes.input_is(1, shapes.input(0));
  shapes.output_is(0, shapes.input(0));
}

void check_leak(const Shapes& shapes) {
  const double slope = shapes.attributes().number("slope");
  if (!(slope >= 0 && slope < 0x1p31)) shapes.refuse("slope", std::to_string(slope), "give a number of at least 0");
}

void check_leaky_value(const Shapes& shapes) {
  check_value(shapes);
  check_leak(shapes);
}

void check_leaky_gradient(const Shapes& shapes) {
  check_gradient(shapes);
  check_leak(shapes);
}

void check_bounds(const Shapes& shapes) {
  const double least = shapes.attributes().number("least"), most = shapes.attributes().number("most");
  if (!(least < most && least > -0x1p127 && most < 0x1p127)) shapes.refuse("most", std::to_string(most), "give a number above least");
}

void check_clamp_value(const Shapes& shapes) {
  check_value(shapes);
  check_bounds(shapes);
}

void check_clamp_gradient(const Shapes& shapes) {
  check_gradient(shapes);
  check_bounds(shapes);
}

void check_gelu_value(const Shapes& shapes) {
  check_value(shapes);
  shapes.whole("approximate", 0, 1);
}

void check_gelu_gradient(const Shapes& shapes) {
  check_gradient(shapes);
  shapes.whole("approximate", 0, 1);
}

using Check = void (*)(const Shapes&);

template <class Function> Operator value_of(const char* kind, Check check) {
  return {kind, {{"x", Role::activation}}, {{"y", Role::activation}}, check, make_typed<Typed<Function>::template Value>, {{0, 0}}};
}

// `from` is the argument of the slope.
template <class Function> Operator gradient_of(const char* kind, const char* from, Check check) {
  return {kind,  {{from, Role::activation}, {"gy", Role::activation}}, {{"gx", Role::activation}},
          check, make_typed<Typed<Function>::template Gradient>,       {{0, 1}, {0, 0}}};
}

std::vector<Operator> operators() {
  return {
      value_of<Sigmoid>("sigmoid", check_value),
      gradient_of<Sigmoid>("sigmoidBackward", "y", check_gradient),
      value_of<Tanh>("tanh", check_value),
      gradient_of<Tanh>("tanhBackward", "y", check_gradient),
      value_of<LeakyRelu>("leakyRelu", check_leaky_value),
      gradient_of<LeakyRelu>("leakyReluBackward", "y", check_leaky_gradient),
      value_of<Clamp>("clamp", check_clamp_value),
      gradient_of<Clamp>("clampBackward", "y", check_clamp_gradient),
      value_of<HardSigmoid>("hardSigmoid", check_value),
      gradient_of<HardSigmoid>("hardSigmoidBackward", "x", check_gradient),
      value_of<HardSwish>("hardSwish", check_value),
      gradient_of<HardSwish>("hardSwishBackward", "x", check_gradient),
      value_of<Silu>("silu", check_value),
      gradient_of<Silu>("siluBackward", "x", check_gradient),
      value_of<Gelu>("gelu", check_gelu_value),
      gradient_of<Gelu>("geluBackward", "x", check_gelu_gradient),
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
