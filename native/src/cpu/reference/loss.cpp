// Losses, as means over the batch, and their gradients.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/labels_of.h"
#include "core/no_class.h"
#include "cpu/binary_cross_entropy_check.h"
#include "cpu/reference/operator.h"
#include "cpu/softmax_check.h"

namespace arbalest::reference {
namespace {

void check_cross_entropy(const Request& request) {
  check_softmax(request);
  const Shape& logits = request.input(0);
  request.input_is(1, {logits.begin(), logits.end() - 1});
  request.output_is(0, {1});
  request.output_is(1, logits);
  request.output_is(2, {1});
  request.output_is(3, {1});
  if (request.has_output(3)) request.whole("top", 1, 1 << 30);
}

void check_cross_entropy_backward(const Request& request) {
  check_softmax(request);
  const Shape& differences = request.input(0);
  request.input_is(1, {differences.begin(), differences.end() - 1});
  request.output_is(0, differences);
}

void check_squared_error(const Request& request) {
  request.input_is(1, request.input(0));
  request.output_is(0, {1});
}

void check_squared_error_backward(const Request& request) {
  request.input_is(1, request.input(0));
  request.output_is(0, request.input(0));
}

// Which rows of logits (..., K) have a class: all, but where a sample has several rows, any of them may have none.
std::vector<bool> rows_with_class(const Shape& logits, const int32_t* target) {
  const int64_t classes = logits.back(), rows = elements_of(logits) / classes;
  std::vector<bool> found;
  for (int64_t n = 0; n < rows; ++n) {
    found.push_back(logits.size() <= 2 || target[n] != kNoClass);
    if (!found.back()) continue;
    if (target[n] < 0 || target[n] >= classes) {
      throw Error("LABEL_OUT_OF_RANGE", "target of sample " + std::to_string(n) + " of the batch: received " + std::to_string(target[n]) +
                                            "; give a class number from 0 to " + std::to_string(classes - 1));
    }
  }
  return found;
}

// How much each class counts: 1 where no weights are given.
std::vector<double> weights_of(const OperatorSpec& op) {
  return op.attributes.list("weights", std::vector<double>(static_cast<size_t>(op.inputs[0].shape().back()), 1));
}

// Of the targets of the rows that have a class; 1 where it is 0, since nothing is to be divided then.
double sum_of_weights(const std::vector<double>& weights, const std::vector<bool>& with_class, const int32_t* target) {
  double sum = 0;
  for (size_t n = 0; n < with_class.size(); ++n) sum += with_class[n] ? weights[static_cast<size_t>(target[n])] : 0;
  return sum > 0 ? sum : 1;
}

void store_count(const Tensor& tensor, double value) {
  if (!tensor) return;
  if (tensor.spec.type == Type::i32) *tensor.as<int32_t>() = static_cast<int32_t>(value);
  if (tensor.spec.type == Type::f32) *tensor.as<float>() = static_cast<float>(value);
  if (tensor.spec.type == Type::f64) *tensor.as<double>() = value;
}

// The target has 1 - smoothing at the label and smoothing / K everywhere besides, each times the weight of its class. A sample counts as
// correct where its class has the first of the largest logits, and as among the top where fewer than `top` classes come before its own in
// falling order. The differences are the probabilities, less 1 at the label. The losses of the rows that have a class are divided by the
// sum of their targets' weights, or with `ofAll` by the number of all rows.
template <class T> void softmax_cross_entropy(const OperatorSpec& op, const StepContext&) {
  const T* logits = op.inputs[0].as<T>();              // (N, K), all axes but the last as one
  const int32_t* target = op.inputs[1].as<int32_t>();  // (N)
  Wide<T>* loss = op.outputs[0].as<Wide<T>>();         // (1)
  T* differences = op.outputs[1].as<T>();              // (N, K) or null
  const int64_t K = op.inputs[0].shape().back(), N = elements_of(op.inputs[0].shape()) / K;
  const double smoothing = op.attributes.number("smoothing", 0), top = op.attributes.number("top", 1);
  const std::vector<bool> with_class = rows_with_class(op.inputs[0].shape(), target);
  const std::vector<double> weights = weights_of(op);
  double total = 0, correct = 0, among_top = 0;
  for (int64_t n = 0; n < N; ++n) {
    if (!with_class[static_cast<size_t>(n)]) {
      if (differences) std::fill_n(differences + n * K, K, T{});
      continue;
    }
    const T* z = logits + n * K;
    const int64_t label = target[n];
    int64_t largest = 0;
    for (int64_t k = 1; k < K; ++k) {
      if (z[k] > z[largest]) largest = k;
    }
    const double highest = z[largest];
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += std::exp(z[k] - highest);
    for (int64_t k = 0; k < K; ++k) {
      const double part = ((k == label ? 1 - smoothing : 0) + smoothing / static_cast<double>(K)) * weights[static_cast<size_t>(k)];
      const double surprise = std::log(sum) - (z[k] - highest);
      // A class that counts for nothing may have a logit of minus infinity; what is no number stays none.
      if (part > 0 || std::isnan(surprise)) total += part * surprise;
    }
    int64_t better = 0;
    for (int64_t k = 0; k < K; ++k) better += !(z[k] <= z[label]) || (z[k] == z[label] && k < label);
    correct += better == 0;
    among_top += better < top;
    if (!differences) continue;
    for (int64_t k = 0; k < K; ++k) differences[n * K + k] = rounded<T>(std::exp(z[k] - highest) / sum - (k == label ? 1 : 0));
  }
  const bool of_all = op.attributes.number("ofAll", 0) != 0;
  loss[0] = rounded<Wide<T>>(total / (of_all ? static_cast<double>(N) : sum_of_weights(weights, with_class, target)));
  store_count(op.outputs[2], correct);
  store_count(op.outputs[3], among_top);
}

template <class T> void softmax_cross_entropy_backward(const OperatorSpec& op, const StepContext&) {
  const T* differences = op.inputs[0].as<T>();         // (N, K)
  const int32_t* target = op.inputs[1].as<int32_t>();  // (N)
  T* glogits = op.outputs[0].as<T>();                  // (N, K)
  const int64_t K = op.inputs[0].shape().back(), N = elements_of(op.inputs[0].shape()) / K;
  const double smoothing = op.attributes.number("smoothing", 0), spread = smoothing / static_cast<double>(K);
  const std::vector<bool> with_class = rows_with_class(op.inputs[0].shape(), target);
  const std::vector<double> weights = weights_of(op);
  const double whole = sum_of_weights(weights, with_class, target), all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t k = 0; k < K; ++k) {
      if (!with_class[static_cast<size_t>(n)]) {
        glogits[n * K + k] = T{};
        continue;
      }
      // Of the loss -sum_j t[j] log p[j] with p[k] = differences[k] + (k is the label), whose gradient is p[k] sum(t) - t[k].
      const double own = weights[static_cast<size_t>(target[n])], sum = (1 - smoothing) * own + spread * all;
      const double smoothed = (k == target[n] ? spread * all : 0.0) - spread * weights[static_cast<size_t>(k)];
      glogits[n * K + k] = rounded<T>((differences[n * K + k] * sum + smoothed) / whole);
    }
  }
}

// The first of the largest of a row.
template <class T> int64_t place_of_largest(const T* row, int64_t length) {
  int64_t largest = 0;
  for (int64_t k = 1; k < length; ++k) {
    if (row[k] > row[largest]) largest = k;
  }
  return largest;
}

// The mean over the rows of -sum_k t[k] log p[k]. A target gives every class a share; t has 1 - smoothing of it and smoothing / K besides,
// times the weight of the class. A row counts as correct where its largest logit and its largest share are of the same class.
template <class T> void soft_target_cross_entropy(const OperatorSpec& op, const StepContext&) {
  const T *logits = op.inputs[0].as<T>(), *target = op.inputs[1].as<T>();  // (N, K), all axes but the last as one
  T* gradient = op.outputs[1].as<T>();                                     // (N, K) or null
  const int64_t K = op.inputs[0].shape().back(), N = elements_of(op.inputs[0].shape()) / K;
  const double smoothing = op.attributes.number("smoothing", 0);
  const std::vector<double> weights = weights_of(op);
  double total = 0, correct = 0;
  for (int64_t n = 0; n < N; ++n) {
    const T* z = logits + n * K;
    std::vector<double> t;
    for (int64_t k = 0; k < K; ++k) {
      t.push_back(((1 - smoothing) * double{target[n * K + k]} + smoothing / static_cast<double>(K)) * weights[static_cast<size_t>(k)]);
    }
    const int64_t largest = place_of_largest(z, K);
    const bool comparable = std::none_of(z, z + K, [](T logit) { return std::isnan(double{logit}); });
    correct += comparable && largest == place_of_largest(target + n * K, K);
    const double highest = z[largest];
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += std::exp(z[k] - highest);
    for (int64_t k = 0; k < K; ++k) {
      const double part = t[static_cast<size_t>(k)], surprise = std::log(sum) - (z[k] - highest);
      // A class that counts for nothing may have a logit of minus infinity; what is no number stays none.
      if (part != 0 || std::isnan(surprise)) total += part * surprise;
    }
    const double all = std::accumulate(t.begin(), t.end(), 0.0);
    for (int64_t k = 0; gradient && k < K; ++k) {
      const double probability = std::exp(z[k] - highest) / sum;
      gradient[n * K + k] = rounded<T>((probability * all - t[static_cast<size_t>(k)]) / static_cast<double>(N));
    }
  }
  op.outputs[0].as<Wide<T>>()[0] = rounded<Wide<T>>(total / static_cast<double>(N));
  store_count(op.outputs[2], correct);
}

// How much each element of a sample counts where it holds: 1 where no weights are given.
std::vector<double> positive_weights_of(const OperatorSpec& op, int64_t elements) {
  const std::vector<double> weights = op.attributes.list("weights", {});
  std::vector<double> each(static_cast<size_t>(elements), 1);
  const LabelsOf labels(op.inputs[0].shape());
  for (int64_t i = 0; !weights.empty() && i < elements; ++i) each[static_cast<size_t>(i)] = weights[static_cast<size_t>(labels.of(i))];
  return each;
}

// The mean over all elements of -(p t log s + (1 - t) log(1 - s)), where s is the logistic function of x and p the weight of its label. A
// sample counts as correct where each of its logits is above 0 just where its target is above 1/2.
template <class T> void binary_cross_entropy(const OperatorSpec& op, const StepContext&) {
  const T *logits = op.inputs[0].as<T>(), *target = op.inputs[1].as<T>();  // (N, ...)
  const int64_t N = op.inputs[0].shape()[0], F = elements_of(op.inputs[0].shape()) / N;
  const std::vector<double> weights = positive_weights_of(op, F);
  double sum = 0, correct = 0;
  for (int64_t n = 0; n < N; ++n) {
    bool right = true;
    for (int64_t i = n * F; i < (n + 1) * F; ++i) {
      const double x = logits[i], t = target[i];
      const double unlikely = std::log1p(std::exp(-std::abs(x)));  // -log of the likelier answer
      sum += (1 - t) * ((x < 0 ? 0 : x) + unlikely) + weights[static_cast<size_t>(i % F)] * t * ((x < 0 ? -x : 0) + unlikely);
      right &= x == x && (x > 0) == (t > 0.5);
    }
    correct += right;
  }
  op.outputs[0].as<Wide<T>>()[0] = rounded<Wide<T>>(sum / static_cast<double>(N * F));
  store_count(op.outputs[1], correct);
}

template <class T> void binary_cross_entropy_backward(const OperatorSpec& op, const StepContext&) {
  const T *logits = op.inputs[0].as<T>(), *target = op.inputs[1].as<T>();
  T* glogits = op.outputs[0].as<T>();
  const int64_t elements = elements_of(op.inputs[0].shape()), F = elements / op.inputs[0].shape()[0];
  const std::vector<double> weights = positive_weights_of(op, F);
  for (int64_t i = 0; i < elements; ++i) {
    const double t = target[i], s = 1 / (1 + std::exp(-double{logits[i]})), weight = weights[static_cast<size_t>(i % F)];
    glogits[i] = rounded<T>(((1 - t) * s - weight * t / (1 + std::exp(double{logits[i]}))) / static_cast<double>(elements));
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

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"softmaxCrossEntropy",
       {{"logits", activation}, {"target", label}},
       {{"loss", wide}, {"differences", activation, true}, {"correct", count, true}, {"amongTop", count, true}},
       check_cross_entropy,
       {softmax_cross_entropy<float>, softmax_cross_entropy<double>, softmax_cross_entropy<Bf16>},
       {{1, 0}}},
      {"softmaxCrossEntropyBackward",
       {{"differences", activation}, {"target", label}},
       {{"glogits", activation}},
       check_cross_entropy_backward,
       {softmax_cross_entropy_backward<float>, softmax_cross_entropy_backward<double>, softmax_cross_entropy_backward<Bf16>},
       {{0, 0}}},
      {"softTargetCrossEntropy",
       {{"logits", activation}, {"target", activation}},
       {{"loss", wide}, {"gradient", activation, true}, {"correct", count, true}},
       check_soft_target<Request>,
       {soft_target_cross_entropy<float>, soft_target_cross_entropy<double>, soft_target_cross_entropy<Bf16>},
       {{1, 0}, {1, 1}}},
      {"binaryCrossEntropy",
       {{"logits", activation}, {"target", activation}},
       {{"loss", wide}, {"correct", count, true}},
       check_binary_cross_entropy<Request>,
       {binary_cross_entropy<float>, binary_cross_entropy<double>, binary_cross_entropy<Bf16>}},
      {"binaryCrossEntropyBackward",
       {{"logits", activation}, {"target", activation}},
       {{"glogits", activation}},
       check_binary_cross_entropy_backward<Request>,
       {binary_cross_entropy_backward<float>, binary_cross_entropy_backward<double>, binary_cross_entropy_backward<Bf16>},
       {{0, 0}, {0, 1}}},
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

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
