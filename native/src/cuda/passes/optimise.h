// One step of an optimiser, for one learner or for many. With many, the learner is an index into a table of pointers, so that one launch
// serves all learners of a device. See OptimiserPass for the formulas.
#pragma once

#include <cmath>

#include "cuda/launch.h"
#include "cuda/number.h"

namespace arbalest::cuda {

// The pointers and numbers of one learner.
struct LearnerVectors {
  const float* weights = nullptr;    // (P)
  float* next = nullptr;             // (P); may be weights
  const float* gradients = nullptr;  // (P)
  float* first = nullptr;            // (P) or null
  float* second = nullptr;           // (P) or null
  float* contribution = nullptr;     // (P) or null
};

struct OptimiserRates {
  enum Algorithm { kSgd, kAdam, kRmsprop };
  enum ContributionKind { kNone, kCorrection, kCopy, kAccumulation };

  int algorithm = kSgd, contribution_kind = kNone;
  float rate = 0, scale = 1, limit = INFINITY, decay = 0, decoupled = 0;
  float momentum = 0;
  bool nesterov = false;
  // 1 - beta1 and 1 - beta2, which `bias1` and `bias2` sum up: made of betas that were rounded to floats they would be too far off.
  float rest1 = 1, rest2 = 1;
  float epsilon = 0, bias1 = 1, bias2 = 1;
  float alpha = 0, ahead = 0;
};

// Rounded by itself, and never a part of a multiply-add: a correction has the same bits whether it is added up at once or written
// first.
EVERYWHERE inline float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// Into [-limit, limit]; a NaN stays a NaN, which fminf and fmaxf would hide.
EVERYWHERE inline float clamped(float value, float limit) { return value > limit ? limit : value < -limit ? -limit : value; }

// V elements of one learner, held in registers between the reads and the writes.
template <int V> struct LearnerStep {
  Pack<float, V> weights, next, correction;

  EVERYWHERE LearnerStep(const LearnerVectors& of, const OptimiserRates& rates, const Pack<float, V>* central, int64_t pack)
      : weights(read<float, V>(of.weights, pack)), next(weights), correction{} {
    Pack<float, V> gradients = read<float, V>(of.gradients, pack), first{}, second{};
    if (of.first) first = read<float, V>(of.first, pack);
    if (of.second) second = read<float, V>(of.second, pack);
    for (int v = 0; v < V; ++v) {
      const float w = weights.at[v], position = w + rates.ahead * first.at[v];
      const float scaled = clamped(rates.scale * gradients.at[v], rates.limit);
      float g = scaled + rates.decay * w;
      if (rates.algorithm == OptimiserRates::kRmsprop) g = rms_scaled(rates, g, second.at[v]);
      const float step =
          rates.algorithm == OptimiserRates::kAdam ? adam(rates, g, w, first.at[v], second.at[v]) : sgd(rates, g, of.first, first.at[v]);
      if (rates.contribution_kind == OptimiserRates::kCorrection)
        correction.at[v] = rounded_product(rates.alpha, position - central->at[v]);
      if (rates.contribution_kind == OptimiserRates::kAccumulation) correction.at[v] = step;
      next.at[v] = w - step - (rates.contribution_kind == OptimiserRates::kCorrection ? correction.at[v] : 0.0f);
    }
    if (of.first) write(of.first, pack, first);
    if (of.second) write(of.second, pack, second);
  }

 private:
  EVERYWHERE static float sgd(const OptimiserRates& rates, float g, const float* has_velocity, float& velocity) {
    if (!has_velocity) return rates.rate * g;
    velocity = rates.momentum * velocity + g;
    return rates.rate * (rates.nesterov ? g + rates.momentum * velocity : velocity);
  }

  EVERYWHERE static float rms_scaled(const OptimiserRates& rates, float g, float& second) {
    second = (1 - rates.rest2) * second + rates.rest2 * g * g;
    return g / (sqrtf(second) + rates.epsilon);
  }

  EVERYWHERE static float adam(const OptimiserRates& rates, float g, float w, float& first, float& second) {
    first = (1 - rates.rest1) * first + rates.rest1 * g;
    second = (1 - rates.rest2) * second + rates.rest2 * g * g;
    return rates.rate * (first / rates.bias1) / (sqrtf(second / rates.bias2) + rates.epsilon) + rates.rate * rates.decoupled * w;
  }
};

template <int V> struct Optimise {
  LearnerVectors of;
  OptimiserRates rates;
  const float* central;  // (P) or null
  int64_t first_pack;    // packs before it are not touched

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t pack = first_pack + i;
    Pack<float, V> z{};
    if (central) z = read<float, V>(central, pack);
    const LearnerStep<V> step(of, rates, &z, pack);
    write(of.next, pack, step.next);
    if (rates.contribution_kind == OptimiserRates::kNone) return;
    Pack<float, V> given = rates.contribution_kind == OptimiserRates::kCopy ? step.next : step.correction;
    if (rates.contribution_kind == OptimiserRates::kAccumulation) {
      const Pack<float, V> before = read<float, V>(of.contribution, pack);
      for (int v = 0; v < V; ++v) given.at[v] += before.at[v];
    }
    write(of.contribution, pack, given);
  }
};

struct LearnerRow {
  LearnerVectors vectors;
  OptimiserRates rates;  // whose contribution_kind is kCorrection
};

// A whole SMA round in one pass over the parameters: every learner's step and correction, in the table's order, and the central model's.
// Moves (5k + 3) floats a parameter with momentum; nothing is read twice.
template <int V> struct OptimiseAndAverage {
  LearnerRow table[kMostTogether];
  int learners;
  const float* central;  // (P) that the corrections are measured from
  const float* base;     // (P) that they are added to: the central model, or `to` where others are in it already
  float* to;             // (P) the central model of the round before on entry, that of the next on return
  float scale, mu;
  int64_t first_pack;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t pack = first_pack + i;
    const Pack<float, V> z = read<float, V>(central, pack);
    Pack<float, V> sum{}, old{};
    for (int k = 0; k < learners; ++k) {
      const LearnerStep<V> step(table[k].vectors, table[k].rates, &z, pack);
      write(table[k].vectors.next, pack, step.next);
      for (int v = 0; v < V; ++v) sum.at[v] += step.correction.at[v];
    }
    const Pack<float, V> from = base == central ? z : read<float, V>(base, pack);
    if (mu != 0) old = read<float, V>(to, pack);
    for (int v = 0; v < V; ++v) sum.at[v] = from.at[v] + scale * sum.at[v] + (mu != 0 ? mu * (from.at[v] - old.at[v]) : 0.0f);
    write(to, pack, sum);
  }
};
}  // namespace arbalest::cuda
