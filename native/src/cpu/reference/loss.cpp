// Losses, as means over the batch, and their gradients.
#include <cmath>

#include "operator.h"

namespace arbalest::reference {
namespace {

void check_cross_entropy(const Request& request) {
  request.input_rank(0, 2);
  const Shape& logits = request.input(0);
  request.input_is(1, {logits[0]});
  request.output_is(0, {1});
  request.output_is(1, logits);
  request.output_is(2, {1});
}

void check_cross_entropy_backward(const Request& request) {
  request.input_rank(0, 2);
  request.input_is(1, {request.input(0)[0]});
  request.output_is(0, request.input(0));
}

void check_squared_error(const Request& request) {
  request.input_is(1, request.input(0));
  request.output_is(0, {1});
}

void check_squared_error_backward(const Request& request) {
  request.input_is(1, request.input(0));
  request.output_is(0, request.input(0));
}

int64_t label_of(const int32_t* target, int64_t n, int64_t classes) {
  if (target[n] < 0 || target[n] >= classes) {
    throw Error("LABEL_OUT_OF_RANGE", "target of sample " + std::to_string(n) + " of the batch: received " + std::to_string(target[n]) +
                                          "; give a class number from 0 to " + std::to_string(classes - 1));
  }
  return target[n];
}

void store_count(const Tensor& tensor, double value) {
  if (!tensor) return;
  if (tensor.spec.type == Type::i32) *tensor.as<int32_t>() = static_cast<int32_t>(value);
  if (tensor.spec.type == Type::f32) *tensor.as<float>() = static_cast<float>(value);
  if (tensor.spec.type == Type::f64) *tensor.as<double>() = value;
}

// A sample counts as correct where its class has the first of the largest logits.
template <class T> void softmax_cross_entropy(const OperatorSpec& op, const StepContext&) {
  const T* logits = op.inputs[0].as<T>();              // (N, K)
  const int32_t* target = op.inputs[1].as<int32_t>();  // (N)
  Wide<T>* loss = op.outputs[0].as<Wide<T>>();         // (1)
  T* probabilities = op.outputs[1].as<T>();            // (N, K) or null
  const int64_t N = op.inputs[0].shape()[0], K = op.inputs[0].shape()[1];
  double total = 0, correct = 0;
  for (int64_t n = 0; n < N; ++n) {
    const T* z = logits + n * K;
    const int64_t label = label_of(target, n, K);
    int64_t largest = 0;
    for (int64_t k = 1; k < K; ++k) {
      if (z[k] > z[largest]) largest = k;
    }
    const double highest = z[largest];
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += std::exp(z[k] - highest);
    total += std::log(sum) + highest - z[label];
    correct += largest == label;
    if (!probabilities) continue;
    for (int64_t k = 0; k < K; ++k) probabilities[n * K + k] = rounded<T>(std::exp(z[k] - highest) / sum);
  }
  loss[0] = rounded<Wide<T>>(total / static_cast<double>(N));
  store_count(op.outputs[2], correct);
}

template <class T> void softmax_cross_entropy_backward(const OperatorSpec& op, const StepContext&) {
  const T* probabilities = op.inputs[0].as<T>();       // (N, K)
  const int32_t* target = op.inputs[1].as<int32_t>();  // (N)
  T* glogits = op.outputs[0].as<T>();                  // (N, K)
  const int64_t N = op.inputs[0].shape()[0], K = op.inputs[0].shape()[1];
  for (int64_t n = 0; n < N; ++n) {
    const int64_t label = label_of(target, n, K);
    for (int64_t k = 0; k < K; ++k) {
      glogits[n * K + k] = rounded<T>((probabilities[n * K + k] - (k == label ? 1.0 : 0.0)) / static_cast<double>(N));
    }
  }
}

template <class T> void mean_squared_error(const OperatorSpec& op, const StepContext&) {
  const T *prediction = op.inputs[0].as<T>(), *target = op.inputs[1].as<T>();
  const int64_t elements = elements_of(op.inputs[0].shape());
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const double difference = double{prediction[i]} - double{target[i]};
    sum += difference * difference;
  }
  op.outputs[0].as<Wide<T>>()[0] = rounded<Wide<T>>(sum / static_cast<double>(elements));
}

template <class T> void mean_squared_error_backward(const OperatorSpec& op, const StepContext&) {
  const T *prediction = op.inputs[0].as<T>(), *target = op.inputs[1].as<T>();
  T* gprediction = op.outputs[0].as<T>();
  const int64_t elements = elements_of(op.inputs[0].shape());
  for (int64_t i = 0; i < elements; ++i) {
    gprediction[i] = rounded<T>(2 * (double{prediction[i]} - double{target[i]}) / static_cast<double>(elements));
  }
}

}  // namespace

std::vector<Operator> loss_operators() {
  using enum Role;
  return {
      {"softmaxCrossEntropy",
       {{"logits", activation}, {"target", label}},
       {{"loss", wide}, {"probabilities", activation, true}, {"correct", count, true}},
       check_cross_entropy,
       {softmax_cross_entropy<float>, softmax_cross_entropy<double>, softmax_cross_entropy<Bf16>},
       {{1, 0}}},
      {"softmaxCrossEntropyBackward",
       {{"probabilities", activation}, {"target", label}},
       {{"glogits", activation}},
       check_cross_entropy_backward,
       {softmax_cross_entropy_backward<float>, softmax_cross_entropy_backward<double>, softmax_cross_entropy_backward<Bf16>},
       {{0, 0}}},
      {"meanSquaredError",
       {{"prediction", activation}, {"target", activation}},
       {{"loss", wide}},
       check_squared_error,
       {mean_squared_error<float>, mean_squared_error<double>, mean_squared_error<Bf16>}},
      {"meanSquaredErrorBackward",
       {{"prediction", activation}, {"target", activation}},
       {{"gprediction", activation}},
       check_squared_error_backward,
       {mean_squared_error_backward<float>, mean_squared_error_backward<double>, mean_squared_error_backward<Bf16>},
       {{0, 0}}},
  };
}

}  // namespace arbalest::reference
