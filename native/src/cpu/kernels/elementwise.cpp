// Operators whose output element depends on the input elements at its own place. They run over memory as it lies, padding lanes included:
// all of them keep zeros zero.
#include "cpu/kernels/elementwise.h"

#include "cpu/kernels/activation.h"
#include "cpu/kernels/operator.h"

namespace arbalest::kernels {
namespace {

template <class T> class Relu final : public Kernel {
 public:
  explicit Relu(const OperatorSpec& spec)
      : x_(input<T>(spec, 0)), y_(output<T>(spec, 0)), elements_(elements_in_memory(spec.inputs[0].spec)) {}

  void run(const StepContext&) override {
    for_all_registers(elements_, [x = x_, y = y_]<bool Partial>(int64_t at, int width) {
      store<Partial>(y + at, rectified(load<Partial>(x + at, width)), width);
    });
  }

 private:
  const T* x_;
  T* y_;
  const int64_t elements_;
};

template <class T> class ReluBackward final : public Kernel {
 public:
  explicit ReluBackward(const OperatorSpec& spec)
      : y_(input<T>(spec, 0)), gy_(input<T>(spec, 1)), gx_(output<T>(spec, 0)), elements_(elements_in_memory(spec.inputs[0].spec)) {}

  void run(const StepContext&) override {
    for_all_registers(elements_, [y = y_, gy = gy_, gx = gx_]<bool Partial>(int64_t at, int width) {
      store<Partial>(gx + at, where_positive(load<Partial>(y + at, width), load<Partial>(gy + at, width)), width);
    });
  }

 private:
  const T *y_, *gy_;
  T* gx_;
  const int64_t elements_;
};

template <class T> class Add final : public Kernel {
 public:
  explicit Add(const OperatorSpec& spec)
      : a_(input<T>(spec, 0)),
        b_(input<T>(spec, 1)),
        y_(output<T>(spec, 0)),
        elements_(elements_in_memory(spec.inputs[0].spec)),
        relu_(spec.attributes.number("relu", 0) != 0) {}

  void run(const StepContext&) override {
    if (relu_)
      add<true>();
    else
      add<false>();
  }

 private:
  template <bool Rectify> void add() {
    for_all_registers(elements_, [a = a_, b = b_, y = y_]<bool Partial>(int64_t at, int width) {
      const Floats sum = load<Partial>(a + at, width) + load<Partial>(b + at, width);
      store<Partial>(y + at, Rectify ? rectified(sum) : sum, width);
    });
  }

  const T *a_, *b_;
  T* y_;
  const int64_t elements_;
  const bool relu_;
};

template <class T> class Multiply final : public Kernel {
 public:
  explicit Multiply(const OperatorSpec& spec)
      : a_(input<T>(spec, 0)), b_(input<T>(spec, 1)), y_(output<T>(spec, 0)), elements_(elements_in_memory(spec.inputs[0].spec)) {}

  void run(const StepContext&) override {
    for_all_registers(elements_, [a = a_, b = b_, y = y_]<bool Partial>(int64_t at, int width) {
      store<Partial>(y + at, load<Partial>(a + at, width) * load<Partial>(b + at, width), width);
    });
  }

 private:
  const T *a_, *b_;
  T* y_;
  const int64_t elements_;
};

// Canonical order does not change with the shape, so nothing moves unless the planner gave the output a place of its own.
template <class T> class Reshape final : public Kernel {
 public:
  explicit Reshape(const OperatorSpec& spec)
      : x_(input<T>(spec, 0)), y_(output<T>(spec, 0)), elements_(elements_of(spec.inputs[0].shape())) {}

  void run(const StepContext&) override {
    if (x_ != y_) std::memcpy(y_, x_, static_cast<size_t>(elements_) * sizeof(T));
  }

 private:
  const T* x_;
  T* y_;
  const int64_t elements_;
};

void check_one(const Shapes& shapes) { shapes.output_is(0, shapes.input(0)); }

void check_two(const Shapes& shapes) {
  shapes.input_is(1, shapes.input(0));
  shapes.output_is(0, shapes.input(0));
}

void check_reshape(const Shapes& shapes) {
  if (elements_of(shapes.input(0)) == elements_of(shapes.output(0))) return;
  shapes.refuse("shape of output y", shown(shapes.output(0)), "give it as many elements as " + shown(shapes.input(0)));
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"relu", {{"x", activation}}, {{"y", activation}}, check_one, make_typed<Relu>, {{0, 0}}},
      {"reluBackward",
       {{"y", activation}, {"gy", activation}},
       {{"gx", activation}},
       check_two,
       make_typed<ReluBackward>,
       {{0, 1}, {0, 0}}},
      {"add", {{"a", activation}, {"b", activation}}, {{"y", activation}}, check_two, make_typed<Add>, {{0, 0}, {0, 1}}},
      {"multiply", {{"a", activation}, {"b", activation}}, {{"y", activation}}, check_two, make_typed<Multiply>, {{0, 0}, {0, 1}}},
      {"reshape", {{"x", canonical}}, {{"y", canonical}}, check_reshape, make_typed<Reshape>, {{0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
