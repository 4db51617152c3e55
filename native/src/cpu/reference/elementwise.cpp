// Operators whose output element depends on the input elements at its own place: relu, add, multiply, dropout, stochasticDepth, reshape.
#include <cstring>

#include "core/dropout_mask.h"
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

void check_same(const Request& request) { request.output_is(0, request.input(0)); }

void check_two(const Request& request) {
  request.input_is(1, request.input(0));
  request.output_is(0, request.input(0));
}

void check_reshape(const Request& request) {
  if (elements_of(request.input(0)) != elements_of(request.output(0))) {
    request.refuse("shape of output y", shown(request.output(0)), "give it as many elements as " + shown(request.input(0)));
  }
}

void check_dropout(const Request& request) {
  check_same(request);
  const double rate = request.attributes().number("rate");
  if (!(rate >= 0 && rate < 1)) request.refuse("rate", std::to_string(rate), "give a number from 0 to below 1");
  request.whole("stream", 0, 0xffff0000);
}

template <class T> void relu(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();
  T* y = op.outputs[0].as<T>();
  for (int64_t i = 0; i < elements_of(op.inputs[0].shape()); ++i) y[i] = x[i] < 0 ? rounded<T>(0) : x[i];
}

template <class T> void relu_backward(const OperatorSpec& op, const StepContext&) {
  const T *y = op.inputs[0].as<T>(), *gy = op.inputs[1].as<T>();
  T* gx = op.outputs[0].as<T>();
  for (int64_t i = 0; i < elements_of(op.inputs[0].shape()); ++i) gx[i] = y[i] > 0 ? gy[i] : rounded<T>(0);
}

template <class T> void add(const OperatorSpec& op, const StepContext&) {
  const T *a = op.inputs[0].as<T>(), *b = op.inputs[1].as<T>();
  T* y = op.outputs[0].as<T>();
  const bool relu = op.attributes.number("relu", 0) != 0;
  for (int64_t i = 0; i < elements_of(op.inputs[0].shape()); ++i) {
    const double sum = double{a[i]} + double{b[i]};
    y[i] = rounded<T>(relu && sum < 0 ? 0.0 : sum);
  }
}

template <class T> void multiply(const OperatorSpec& op, const StepContext&) {
  const T *a = op.inputs[0].as<T>(), *b = op.inputs[1].as<T>();
  T* y = op.outputs[0].as<T>();
  for (int64_t i = 0; i < elements_of(op.inputs[0].shape()); ++i) y[i] = rounded<T>(double{a[i]} * double{b[i]});
}

template <class T> void reshape(const OperatorSpec& op, const StepContext&) {
  if (op.outputs[0].data != op.inputs[0].data) {
    std::memcpy(op.outputs[0].data, op.inputs[0].data, elements_of(op.inputs[0].shape()) * sizeof(T));
  }
}

// Of elements, or of whole samples.
template <class T, bool whole> void drop(const OperatorSpec& op, const StepContext& step) {
  const T* x = op.inputs[0].as<T>();  // (N, ...)
  T* y = op.outputs[0].as<T>();       // (N, ...)
  const int64_t samples = op.inputs[0].shape()[0], elements = elements_of(op.inputs[0].shape()) / samples;
  const double rate = op.attributes.number("rate"), scale = 1 / (1 - rate);
  const auto stream = static_cast<uint64_t>(op.attributes.number("stream"));
  for (int64_t n = 0; n < samples; ++n) {
    const DropoutMask mask(step.seed, step.position + static_cast<uint64_t>(n), stream, static_cast<float>(rate));
    for (int64_t e = 0; e < elements; ++e) {
      const bool kept = whole ? mask.keeps_sample() : mask.keeps(e);
      y[n * elements + e] = rounded<T>(kept ? x[n * elements + e] * scale : 0.0);
    }
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"relu", {{"x", activation}}, {{"y", activation}}, check_same, {relu<float>, relu<double>, relu<Bf16>}, {{0, 0}}},
      {"reluBackward",
       {{"y", activation}, {"gy", activation}},
       {{"gx", activation}},
       check_two,
       {relu_backward<float>, relu_backward<double>, relu_backward<Bf16>},
       {{0, 1}, {0, 0}}},
      {"add",
       {{"a", activation}, {"b", activation}},
       {{"y", activation}},
       check_two,
       {add<float>, add<double>, add<Bf16>},
       {{0, 0}, {0, 1}}},
      {"multiply",
       {{"a", activation}, {"b", activation}},
       {{"y", activation}},
       check_two,
       {multiply<float>, multiply<double>, multiply<Bf16>},
       {{0, 0}, {0, 1}}},
      {"reshape", {{"x", activation}}, {{"y", activation}}, check_reshape, {reshape<float>, reshape<double>, reshape<Bf16>}, {{0, 0}}},
      {"dropout",
       {{"x", activation}},
       {{"y", activation}},
       check_dropout,
       {drop<float, false>, drop<double, false>, drop<Bf16, false>},
       {{0, 0}}},
      {"dropoutBackward",
       {{"gy", activation}},
       {{"gx", activation}},
       check_dropout,
       {drop<float, false>, drop<double, false>, drop<Bf16, false>},
       {{0, 0}}},
      {"stochasticDepth",
       {{"x", activation}},
       {{"y", activation}},
       check_dropout,
       {drop<float, true>, drop<double, true>, drop<Bf16, true>},
       {{0, 0}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
