#include "cpu/reference/reorder.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

template <class Integer> Integer clamped(double value) {
  const double least = std::numeric_limits<Integer>::min(), most = std::numeric_limits<Integer>::max();
  return value == value ? static_cast<Integer>(std::clamp(value, least, most)) : Integer{0};
}

double read(const Tensor& tensor, int64_t i) {
  switch (tensor.spec.type) {
    case Type::f32: return tensor.as<float>()[i];
    case Type::f64: return tensor.as<double>()[i];
    case Type::bf16: return tensor.as<Bf16>()[i];
    case Type::i32: return tensor.as<int32_t>()[i];
    case Type::u8: return tensor.as<uint8_t>()[i];
  }
  return 0;
}

void write(const Tensor& tensor, int64_t i, double value) {
  switch (tensor.spec.type) {
    case Type::f32: tensor.as<float>()[i] = static_cast<float>(value); break;
    case Type::f64: tensor.as<double>()[i] = value; break;
    case Type::bf16: tensor.as<Bf16>()[i] = rounded<Bf16>(value); break;
    case Type::i32: tensor.as<int32_t>()[i] = clamped<int32_t>(value); break;
    case Type::u8: tensor.as<uint8_t>()[i] = clamped<uint8_t>(value); break;
  }
}

void check(const Request& request) { request.output_is(0, request.input(0)); }

void run(const OperatorSpec& op, const StepContext&) { reorder(op.inputs[0], op.outputs[0]); }

}  // namespace

void reorder(const Tensor& from, const Tensor& to) {
  const int64_t elements = elements_of(from.shape());
  if (from.spec.layout != kPlain || to.spec.layout != kPlain || elements != elements_of(to.shape())) {
    throw Error("INVALID_PROGRAM", "reorder: received " + shown(from.shape()) + " in layout " + from.spec.layout + " for " +
                                       shown(to.shape()) + " in layout " + to.spec.layout +
                                       "; the reference backend takes equal shapes in plain");
  }
  if (from.spec.type == to.spec.type) {
    std::memmove(to.data, from.data, static_cast<size_t>(elements) * size_of(from.spec.type));
    return;
  }
  for (int64_t i = 0; i < elements; ++i) write(to, i, read(from, i));
}

namespace {

std::vector<Operator> operators() { return {{"reorder", {{"x", Role::any}}, {{"y", Role::any}}, check, {run, run, run}}}; }

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
