// Operators over sequences (N, T, F): layer norm, embedding, positions, lengths, the mean of the positions.
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/reference/operator.h"
#include "cpu/sequence_length.h"

namespace arbalest::reference {
namespace {

Shape without_last(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

void check_layer_norm(const Request& request) {
  request.epsilon();
  request.input_rank_at_least(0, 2);
  const Shape& x = request.input(0);
  request.input_is(1, {x.back()});
  request.input_is(2, {x.back()});
  request.output_is(0, x);
  request.output_is(1, without_last(x));
  request.output_is(2, without_last(x));
}

void check_layer_norm_backward(const Request& request) {
  request.input_rank_at_least(0, 2);
  const Shape& x = request.input(0);
  request.input_is(1, {x.back()});
  request.input_is(2, without_last(x));
  request.input_is(3, without_last(x));
  request.input_is(4, x);
  request.output_is(0, x);
  request.output_is(1, {x.back()});
  request.output_is(2, {x.back()});
}

void check_embedding(const Request& request) {
  request.input_rank(1, 2);
  Shape y = request.input(0);
  y.push_back(request.input(1)[1]);
  request.output_is(0, y);
}

void check_embedding_backward(const Request& request) {
  request.output_rank(0, 2);
  Shape gy = request.input(0);
  gy.push_back(request.output(0)[1]);
  request.input_is(1, gy);
}

void check_positions(const Request& request) {
  request.input_rank_at_least(0, 2);
  const Shape& x = request.input(0);
  request.input_is(1, table_of(x, request.input(1)));
  request.output_is(0, x);
}

void check_positions_backward(const Request& request) {
  request.input_rank_at_least(0, 2);
  const Shape& gy = request.input(0);
  request.output_is(0, table_of(gy, request.output(0)));
}

void check_mean(const Request& request) {
  request.input_rank(0, 3);
  const Shape& x = request.input(0);
  if (request.inputs() > 1 && request.has_input(1)) request.input_is(1, {x[0]});
  request.output_is(0, {x[0], x[2]});
}

void check_mean_backward(const Request& request) {
  request.output_rank(0, 3);
  const Shape& gx = request.output(0);
  request.input_is(0, {gx[0], gx[2]});
  if (request.inputs() > 1 && request.has_input(1)) request.input_is(1, {gx[0]});
}

void check_lengths(const Request& request) {
  request.input_rank(0, 2);
  request.output_is(0, {request.input(0)[0]});
  request.whole("padding", 0, std::numeric_limits<int32_t>::max());
}

// The positions up to the last token that is not padding.
template <class T> void lengths(const OperatorSpec& op, const StepContext&) {
  const int32_t* tokens = op.inputs[0].as<int32_t>();  // (N, T)
  Wide<T>* y = op.outputs[0].as<Wide<T>>();            // (N)
  const int64_t N = op.inputs[0].shape()[0], most = op.inputs[0].shape()[1];
  const auto padding = static_cast<int32_t>(op.attributes.number("padding"));
  for (int64_t n = 0; n < N; ++n) {
    int64_t length = most;
    while (length > 0 && tokens[n * most + length - 1] == padding) --length;
    y[n] = rounded<Wide<T>>(static_cast<double>(length));
  }
}

// Of sequence n: all positions where no lengths (N) are given.
template <class T> int64_t positions_of(const OperatorSpec& op, int64_t n, int64_t most) {
  const Wide<T>* lengths = op.inputs.size() > 1 ? op.inputs[1].as<Wide<T>>() : nullptr;
  return lengths ? length_of(lengths[n], most) : most;
}

template <class T> void mean_positions(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.inputs[0].shape();
  const int64_t N = shape[0], length = shape[1], F = shape[2];
  const T* x = op.inputs[0].as<T>();  // (N, T, F)
  T* y = op.outputs[0].as<T>();       // (N, F)
  for (int64_t n = 0; n < N; ++n) {
    const int64_t count = positions_of<T>(op, n, length);
    for (int64_t f = 0; f < F; ++f) {
      double sum = 0;
      for (int64_t t = 0; t < count; ++t) sum += double{x[(n * length + t) * F + f]};
      y[n * F + f] = rounded<T>(count > 0 ? sum / static_cast<double>(count) : 0);
    }
  }
}

template <class T> void mean_positions_backward(const OperatorSpec& op, const StepContext&) {
  const Shape& shape = op.outputs[0].shape();
  const int64_t N = shape[0], length = shape[1], F = shape[2];
  const T* gy = op.inputs[0].as<T>();  // (N, F)
  T* gx = op.outputs[0].as<T>();       // (N, T, F)
  for (int64_t row = 0; row < N * length; ++row) {
    const int64_t n = row / length, count = positions_of<T>(op, n, length);
    for (int64_t f = 0; f < F; ++f)
      gx[row * F + f] = rounded<T>(row % length < count ? double{gy[n * F + f]} / static_cast<double>(count) : 0);
  }
}

// y = (x - mean) * inverse * gamma + beta for each row, inverse = 1 / sqrt(variance + epsilon), the variance biased.
template <class T> void layer_norm(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();                  // (N, F), all axes but the last as one
  const Wide<T>* gamma = op.inputs[1].as<Wide<T>>();  // (F)
  const Wide<T>* beta = op.inputs[2].as<Wide<T>>();   // (F)
  T* y = op.outputs[0].as<T>();                       // (N, F)
  Wide<T>* means = op.outputs[1].as<Wide<T>>();       // (N) or null
  Wide<T>* inverses = op.outputs[2].as<Wide<T>>();    // (N) or null
  const int64_t F = op.inputs[0].shape().back(), N = elements_of(op.inputs[0].shape()) / F;
  const double epsilon = op.attributes.number("epsilon");
  for (int64_t n = 0; n < N; ++n, x += F, y += F) {
    double mean = 0, variance = 0;
    for (int64_t f = 0; f < F; ++f) mean += x[f];
    mean /= static_cast<double>(F);
    for (int64_t f = 0; f < F; ++f) variance += (x[f] - mean) * (x[f] - mean);
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(F) + epsilon);
    for (int64_t f = 0; f < F; ++f) y[f] = rounded<T>((x[f] - mean) * inverse * gamma[f] + beta[f]);
    if (means) means[n] = rounded<Wide<T>>(mean);
    if (inverses) inverses[n] = rounded<Wide<T>>(inverse);
  }
}

// With g = gy * gamma and xhat = (x - mean) * inverse: gx = inverse * (g - mean(g) - xhat * mean(g * xhat)), the means over the row.
template <class T> void layer_norm_backward(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();                     // (N, F)
  const Wide<T>* gamma = op.inputs[1].as<Wide<T>>();     // (F)
  const Wide<T>* means = op.inputs[2].as<Wide<T>>();     // (N)
  const Wide<T>* inverses = op.inputs[3].as<Wide<T>>();  // (N)
  const T* gy = op.inputs[4].as<T>();                    // (N, F)
  T* gx = op.outputs[0].as<T>();                         // (N, F) or null
  Wide<T>* ggamma = op.outputs[1].as<Wide<T>>();         // (F)
  Wide<T>* gbeta = op.outputs[2].as<Wide<T>>();          // (F)
  const int64_t F = op.inputs[0].shape().back(), N = elements_of(op.inputs[0].shape()) / F;
  std::vector<double> scales(static_cast<size_t>(F)), shifts(static_cast<size_t>(F)), normalised(static_cast<size_t>(F));
  for (int64_t n = 0; n < N; ++n) {
    const int64_t row = n * F;
    double sum = 0, product = 0;
    for (int64_t f = 0; f < F; ++f) {
      const auto i = static_cast<size_t>(f);
      const double gradient = gy[row + f];
      normalised[i] = (x[row + f] - double{means[n]}) * inverses[n];
      scales[i] += gradient * normalised[i];
      shifts[i] += gradient;
      sum += gradient * gamma[f];
      product += gradient * gamma[f] * normalised[i];
    }
    if (!gx) continue;
    for (int64_t f = 0; f < F; ++f) {
      const double centred = double{gy[row + f]} * gamma[f] - (sum + normalised[static_cast<size_t>(f)] * product) / static_cast<double>(F);
      gx[row + f] = rounded<T>(inverses[n] * centred);
    }
  }
  for (int64_t f = 0; f < F; ++f) {
    ggamma[f] = rounded<Wide<T>>(scales[static_cast<size_t>(f)]);
    gbeta[f] = rounded<Wide<T>>(shifts[static_cast<size_t>(f)]);
  }
}

int64_t token_of(const int32_t* tokens, int64_t n, int64_t known) {
  if (tokens[n] >= 0 && tokens[n] < known) return tokens[n];
  throw Error("LABEL_OUT_OF_RANGE", "token " + std::to_string(n) + " of the batch: received " + std::to_string(tokens[n]) +
                                        "; give a number from 0 to " + std::to_string(known - 1));
}

template <class T> void embedding(const OperatorSpec& op, const StepContext&) {
  const int32_t* tokens = op.inputs[0].as<int32_t>();  // (N), all axes as one
  const Wide<T>* table = op.inputs[1].as<Wide<T>>();   // (V, F)
  T* y = op.outputs[0].as<T>();                        // (N, F)
  const int64_t N = elements_of(op.inputs[0].shape()), V = op.inputs[1].shape()[0], F = op.inputs[1].shape()[1];
  for (int64_t n = 0; n < N; ++n) {
    const Wide<T>* row = table + token_of(tokens, n, V) * F;
    for (int64_t f = 0; f < F; ++f) y[n * F + f] = rounded<T>(row[f]);
  }
}

template <class T> void embedding_backward(const OperatorSpec& op, const StepContext&) {
  const int32_t* tokens = op.inputs[0].as<int32_t>();  // (N)
  const T* gy = op.inputs[1].as<T>();                  // (N, F)
  Wide<T>* gtable = op.outputs[0].as<Wide<T>>();       // (V, F)
  const int64_t N = elements_of(op.inputs[0].shape()), V = op.outputs[0].shape()[0], F = op.outputs[0].shape()[1];
  std::vector<double> sums(static_cast<size_t>(V * F));
  for (int64_t n = 0; n < N; ++n) {
    double* row = sums.data() + token_of(tokens, n, V) * F;
    for (int64_t f = 0; f < F; ++f) row[f] += gy[n * F + f];
  }
  for (size_t i = 0; i < sums.size(); ++i) gtable[i] = rounded<Wide<T>>(sums[i]);
}

template <class T> void positions(const OperatorSpec& op, const StepContext&) {
  const T* x = op.inputs[0].as<T>();                  // (N, E), all axes but the first as one
  const Wide<T>* table = op.inputs[1].as<Wide<T>>();  // (E)
  T* y = op.outputs[0].as<T>();                       // (N, E)
  const int64_t N = op.inputs[0].shape()[0], E = elements_of(op.inputs[1].shape());
  for (int64_t i = 0; i < N * E; ++i) y[i] = rounded<T>(double{x[i]} + double{table[i % E]});
}

template <class T> void positions_backward(const OperatorSpec& op, const StepContext&) {
  const T* gy = op.inputs[0].as<T>();             // (N, E)
  Wide<T>* gtable = op.outputs[0].as<Wide<T>>();  // (E)
  const int64_t N = op.inputs[0].shape()[0], E = elements_of(op.outputs[0].shape());
  for (int64_t e = 0; e < E; ++e) {
    double sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += gy[n * E + e];
    gtable[e] = rounded<Wide<T>>(sum);
  }
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"layerNorm",
       {{"x", activation}, {"gamma", wide}, {"beta", wide}},
       {{"y", activation}, {"mean", wide, true}, {"inverse", wide, true}},
       check_layer_norm,
       {layer_norm<float>, layer_norm<double>, layer_norm<Bf16>}},
      {"layerNormBackward",
       {{"x", activation}, {"gamma", wide}, {"mean", wide}, {"inverse", wide}, {"gy", activation}},
       {{"gx", activation, true}, {"ggamma", wide}, {"gbeta", wide}},
       check_layer_norm_backward,
       {layer_norm_backward<float>, layer_norm_backward<double>, layer_norm_backward<Bf16>},
       {{0, 4}}},
      {"embedding",
       {{"tokens", label}, {"table", wide}},
       {{"y", activation}},
       check_embedding,
       {embedding<float>, embedding<double>, embedding<Bf16>}},
      {"embeddingBackward",
       {{"tokens", label}, {"gy", activation}},
       {{"gtable", wide}},
       check_embedding_backward,
       {embedding_backward<float>, embedding_backward<double>, embedding_backward<Bf16>}},
      {"positions",
       {{"x", activation}, {"table", wide}},
       {{"y", activation}},
       check_positions,
       {positions<float>, positions<double>, positions<Bf16>},
       {{0, 0}}},
      {"lengths", {{"tokens", label}}, {{"y", wide}}, check_lengths, {lengths<float>, lengths<double>, lengths<Bf16>}},
      {"meanPositions",
       {{"x", activation}, {"lengths", wide, true}},
       {{"y", activation}},
       check_mean,
       {mean_positions<float>, mean_positions<double>, mean_positions<Bf16>}},
      {"meanPositionsBackward",
       {{"gy", activation}, {"lengths", wide, true}},
       {{"gx", activation}},
       check_mean_backward,
       {mean_positions_backward<float>, mean_positions_backward<double>, mean_positions_backward<Bf16>}},
      {"positionsBackward",
       {{"gy", activation}},
       {{"gtable", wide}},
       check_positions_backward,
       {positions_backward<float>, positions_backward<double>, positions_backward<Bf16>}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
