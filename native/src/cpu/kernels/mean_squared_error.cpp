// The mean over all elements of (prediction - target)^2, and its gradient 2 * (prediction - target) / elements.
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

// Elements whose sum is kept in float before it is added up in double.
constexpr int64_t kRun = 64 * kLanes;

template <class T> class MeanSquaredError final : public Kernel {
 public:
  explicit MeanSquaredError(const OperatorSpec& spec)
      : elements_(elements_of(spec.inputs[0].shape())),
        prediction_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        loss_(output<float>(spec, 0)) {}

  void run(const StepContext&) override {
    double total = 0;
    for (int64_t begin = 0; begin < elements_; begin += kRun) {
      const int64_t end = begin + kRun < elements_ ? begin + kRun : elements_;
      Floats sum{};
      for_each_register(begin, end, [&]<bool Partial>(int64_t at, int width) {
        const Floats difference = load<Partial>(prediction_ + at, width) - load<Partial>(target_ + at, width);
        sum += difference * difference;
      });
      total += sum_of(sum);
    }
    *loss_ = static_cast<float>(total / static_cast<double>(elements_));
  }

 private:
  const int64_t elements_;
  const T *prediction_, *target_;
  float* loss_;  // (1)
};

template <class T> class MeanSquaredErrorBackward final : public Kernel {
 public:
  explicit MeanSquaredErrorBackward(const OperatorSpec& spec)
      : elements_(elements_of(spec.inputs[0].shape())),
        prediction_(input<T>(spec, 0)),
        target_(input<T>(spec, 1)),
        gprediction_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    const auto share = static_cast<float>(2.0 / static_cast<double>(elements_));
    for_all_registers(elements_, [&]<bool Partial>(int64_t at, int width) {
      store<Partial>(gprediction_ + at, (load<Partial>(prediction_ + at, width) - load<Partial>(target_ + at, width)) * share, width);
    });
  }

 private:
  const int64_t elements_;
  const T *prediction_, *target_;
  T* gprediction_;
};

void check_forward(const Shapes& shapes) {
  shapes.input_is(1, shapes.input(0));
  shapes.output_is(0, {1});
}

void check_backward(const Shapes& shapes) {
  shapes.input_is(1, shapes.input(0));
  shapes.output_is(0, shapes.input(0));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"meanSquaredError",
       {{"prediction", canonical}, {"target", canonical}},
       {{"loss", parameter}},
       check_forward,
       make_typed<MeanSquaredError>},
      {"meanSquaredErrorBackward",
       {{"prediction", canonical}, {"target", canonical}},
       {{"gprediction", canonical}},
       check_backward,
       make_typed<MeanSquaredErrorBackward>,
       {{0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
