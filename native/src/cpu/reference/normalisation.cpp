// Batch norm over (N, C, H, W): Ioffe and Szegedy, "Batch normalization", ICML 2015; with residual add and ReLU in the same operator.
// Statistics are those of the batch, the variance biased.
#include <cmath>

#include "cpu/reference/bounds.h"
#include "cpu/reference/operator.h"

namespace arbalest::reference {
namespace {

void check_forward(const Request& request) {
  request.epsilon();
  request.input_rank(0, 4);
  const Shape& x = request.input(0);
  request.input_is(1, {x[1]});
  request.input_is(2, {x[1]});
  request.input_is(3, x);
  request.output_is(0, x);
  request.output_is(1, {x[1]});
  request.output_is(2, {x[1]});
}

void check_inference(const Request& request) {
  request.epsilon();
  request.input_rank(0, 4);
  const Shape& x = request.input(0);
  for (size_t i = 1; i < 5; ++i) request.input_is(i, {x[1]});
  request.input_is(5, x);
  request.output_is(0, x);
}

void check_backward(const Request& request) {
  request.epsilon();
  request.input_rank(0, 4);
  const Shape& x = request.input(0);
  for (size_t i = 1; i < 4; ++i) request.input_is(i, {x[1]});
  for (size_t i = 4; i < 7; ++i) request.input_is(i, x);
  if (request.attributes().number("relu", 0) != 0 && !request.has_input(4)) {
    request.refuse("input y", "nothing", "give it: with relu the gradient is masked by y > 0");
  }
  request.output_is(0, x);
  request.output_is(1, {x[1]});
  request.output_is(2, {x[1]});
  request.output_is(3, x);
}

void check_fold(const Request& request) {
  request.input_rank(0, 1);
  const Shape& statistic = request.input(0);
  request.input_is(1, statistic);
  request.input_is(2, {1});
  request.input_is(3, statistic);
  request.input_is(4, statistic);
  request.output_is(0, {1});
  request.output_is(1, statistic);
  request.output_is(2, statistic);
}

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta (+ residual), one channel.
template <class T>
void normalise(const Image& image, int64_t c, double mean, double variance, double epsilon, double gamma, double beta, const Bounds& bounds,
               const T* x, const T* residual, T* y) {
  const double scale = gamma / std::sqrt(variance + epsilon);
  for (int64_t n = 0; n < image.n; ++n) {
    for (int64_t s = 0; s < image.h * image.w; ++s) {
      const int64_t i = image.at(n, c, 0, 0) + s;
      double value = (x[i] - mean) * scale + beta;
      if (residual) value += residual[i];
      y[i] = rounded<T>(bounds.within(value));
    }
  }
}

template <class T> void batch_norm(const OperatorSpec& op, const StepContext&) {
  const Image image(op.inputs[0].shape());
  const T* x = op.inputs[0].as<T>();                  // (N, C, H, W)
  const Wide<T>* gamma = op.inputs[1].as<Wide<T>>();  // (C)
  const Wide<T>* beta = op.inputs[2].as<Wide<T>>();   // (C)
  const T* residual = op.inputs[3].as<T>();           // (N, C, H, W) or null
  T* y = op.outputs[0].as<T>();                       // (N, C, H, W)
  Wide<T>* means = op.outputs[1].as<Wide<T>>();       // (C)
  Wide<T>* variances = op.outputs[2].as<Wide<T>>();   // (C)
  const double epsilon = op.attributes.number("epsilon"), count = static_cast<double>(image.n * image.h * image.w);
  const Bounds bounds(op.attributes);
  for (int64_t c = 0; c < image.c; ++c) {
    double mean = 0, variance = 0;
    for (int64_t n = 0; n < image.n; ++n) {
      for (int64_t s = 0; s < image.h * image.w; ++s) mean += x[image.at(n, c, 0, 0) + s];
    }
    mean /= count;
    for (int64_t n = 0; n < image.n; ++n) {
      for (int64_t s = 0; s < image.h * image.w; ++s) {
        const double deviation = x[image.at(n, c, 0, 0) + s] - mean;
        variance += deviation * deviation;
      }
    }
    variance /= count;
    means[c] = rounded<Wide<T>>(mean);
    variances[c] = rounded<Wide<T>>(variance);
    normalise<T>(image, c, mean, variance, epsilon, gamma[c], beta[c], bounds, x, residual, y);
  }
}

template <class T> void batch_norm_inference(const OperatorSpec& op, const StepContext&) {
  const Image image(op.inputs[0].shape());
  const T* x = op.inputs[0].as<T>();                     // (N, C, H, W)
  const Wide<T>* gamma = op.inputs[1].as<Wide<T>>();     // (C)
  const Wide<T>* beta = op.inputs[2].as<Wide<T>>();      // (C)
  const Wide<T>* mean = op.inputs[3].as<Wide<T>>();      // (C)
  const Wide<T>* variance = op.inputs[4].as<Wide<T>>();  // (C)
  const T* residual = op.inputs[5].as<T>();              // (N, C, H, W) or null
  T* y = op.outputs[0].as<T>();                          // (N, C, H, W)
  const double epsilon = op.attributes.number("epsilon");
  const Bounds bounds(op.attributes);
  for (int64_t c = 0; c < image.c; ++c) normalise<T>(image, c, mean[c], variance[c], epsilon, gamma[c], beta[c], bounds, x, residual, y);
}

// With g = (gy + gy2) masked, xhat = (x - mean) / deviation and M elements a channel: ggamma = sum g * xhat, gbeta = sum g,
// gx = gamma / deviation * (g - gbeta / M - xhat * ggamma / M).
template <class T> void batch_norm_backward(const OperatorSpec& op, const StepContext&) {
  const Image image(op.inputs[0].shape());
  const T* x = op.inputs[0].as<T>();                      // (N, C, H, W)
  const Wide<T>* gammas = op.inputs[1].as<Wide<T>>();     // (C)
  const Wide<T>* means = op.inputs[2].as<Wide<T>>();      // (C)
  const Wide<T>* variances = op.inputs[3].as<Wide<T>>();  // (C)
  const T* y = op.inputs[4].as<T>();                      // (N, C, H, W) or null without relu
  const T* gy = op.inputs[5].as<T>();                     // (N, C, H, W)
  const T* gy2 = op.inputs[6].as<T>();                    // (N, C, H, W) or null
  T* gx = op.outputs[0].as<T>();                          // (N, C, H, W)
  Wide<T>* ggamma = op.outputs[1].as<Wide<T>>();          // (C)
  Wide<T>* gbeta = op.outputs[2].as<Wide<T>>();           // (C)
  T* gresidual = op.outputs[3].as<T>();                   // (N, C, H, W) or null
  const double epsilon = op.attributes.number("epsilon"), count = static_cast<double>(image.n * image.h * image.w);
  const Bounds bounds(op.attributes);
  const auto gradient = [&](int64_t i) {
    if (bounds.relu && !bounds.passes(y[i])) return 0.0;
    return double{gy[i]} + (gy2 ? double{gy2[i]} : 0.0);
  };
  for (int64_t c = 0; c < image.c; ++c) {
    const double mean = means[c], inverse = 1 / std::sqrt(variances[c] + epsilon);
    double sum = 0, product = 0;
    for (int64_t n = 0; n < image.n; ++n) {
      for (int64_t s = 0; s < image.h * image.w; ++s) {
        const int64_t i = image.at(n, c, 0, 0) + s;
        sum += gradient(i);
        product += gradient(i) * (x[i] - mean) * inverse;
      }
    }
    ggamma[c] = rounded<Wide<T>>(product);
    gbeta[c] = rounded<Wide<T>>(sum);
    for (int64_t n = 0; n < image.n; ++n) {
      for (int64_t s = 0; s < image.h * image.w; ++s) {
        const int64_t i = image.at(n, c, 0, 0) + s;
        const double g = gradient(i), normalised = (x[i] - mean) * inverse;
        if (gx) gx[i] = rounded<T>(gammas[c] * inverse * (g - sum / count - normalised * product / count));
        if (gresidual) gresidual[i] = rounded<T>(g);
      }
    }
  }
}

// The statistics of all samples of `count` batches of one size and of one batch more: Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", 1983. The variance stays biased and includes what the batches' means differ by.
template <class T> void fold_statistics(const OperatorSpec& op, const StepContext&) {
  using W = Wide<T>;
  const W *mean = op.inputs[0].as<W>(), *variance = op.inputs[1].as<W>();                // (C)
  const double count = op.inputs[2].as<W>()[0];                                          // (1)
  const W *folded_mean = op.inputs[3].as<W>(), *folded_variance = op.inputs[4].as<W>();  // (C)
  W *next_mean = op.outputs[1].as<W>(), *next_variance = op.outputs[2].as<W>();          // (C)
  const double next = count + 1;
  for (int64_t c = 0; c < op.inputs[0].shape()[0]; ++c) {
    const double step = mean[c] - double{folded_mean[c]};
    next_mean[c] = rounded<W>(folded_mean[c] + step / next);
    next_variance[c] = rounded<W>((count * folded_variance[c] + variance[c] + step * step * count / next) / next);
  }
  op.outputs[0].as<W>()[0] = rounded<W>(next);
}

std::vector<Operator> operators() {
  using enum Role;
  return {
      {"batchNorm",
       {{"x", activation}, {"gamma", wide}, {"beta", wide}, {"residual", activation, true}},
       {{"y", activation}, {"mean", wide}, {"variance", wide}},
       check_forward,
       {batch_norm<float>, batch_norm<double>, batch_norm<Bf16>},
       {{0, 0}, {0, 3}}},
      {"batchNormInference",
       {{"x", activation}, {"gamma", wide}, {"beta", wide}, {"mean", wide}, {"variance", wide}, {"residual", activation, true}},
       {{"y", activation}},
       check_inference,
       {batch_norm_inference<float>, batch_norm_inference<double>, batch_norm_inference<Bf16>},
       {{0, 0}, {0, 5}}},
      {"batchNormBackward",
       {{"x", activation},
        {"gamma", wide},
        {"mean", wide},
        {"variance", wide},
        {"y", activation, true},
        {"gy", activation},
        {"gy2", activation, true}},
       {{"gx", activation, true}, {"ggamma", wide}, {"gbeta", wide}, {"gresidual", activation, true}},
       check_backward,
       {batch_norm_backward<float>, batch_norm_backward<double>, batch_norm_backward<Bf16>},
       {{0, 5}, {3, 6}}},
      {"foldStatistics",
       {{"mean", wide}, {"variance", wide}, {"count", wide}, {"foldedMean", wide}, {"foldedVariance", wide}},
       {{"count", wide}, {"foldedMean", wide}, {"foldedVariance", wide}},
       check_fold,
       {fold_statistics<float>, fold_statistics<double>, fold_statistics<Bf16>},
       {{0, 2}, {1, 3}, {2, 4}}},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::reference
