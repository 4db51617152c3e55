// One step of an optimiser for one learner or for many: the learner is an index into a table of pointers in device memory, so that one
// launch serves all learners of a device. See OptimiserPass for the formulas.
#pragma once

#include <cmath>

#include "../number.h"

namespace arbalest::cuda {

// What differs from learner to learner.
struct LearnerVectors {
  const float* weights = nullptr;    // (P)
  float* next = nullptr;             // (P); may be weights
  const float* gradients = nullptr;  // (P)
  float* first = nullptr;            // (P) or null
  float* second = nullptr;           // (P) or null
  float* contribution = nullptr;     // (P) or null
  const float* guard = nullptr;      // (1) or null: a loss; where it is not finite nothing of this learner changes
};

struct OptimiserRates {
  enum Algorithm { kSgd, kAdam };
  enum Meeting { kNone, kCorrection, kSnapshot, kAccumulation };

  int algorithm = kSgd, meeting = kNone;
  float rate = 0, scale = 1, limit = INFINITY, decay = 0, decoupled = 0;
  float momentum = 0;
  bool nesterov = false;
  float beta1 = 0, beta2 = 0, epsilon = 0, bias1 = 1, bias2 = 1;
  float alpha = 0;
};

EVERYWHERE inline bool finite(float value) { return value - value == 0; }

// V elements of one learner, held in registers between what reads and what writes them.
template <int V> struct LearnerStep {
  Pack<float, V> weights, next, correction;
  bool held;  // by the guard

  EVERYWHERE LearnerStep(const LearnerVectors& of, const OptimiserRates& rates, const Pack<float, V>* central, int64_t pack)
      : weights(read<float, V>(of.weights, pack)), next(weights), correction{}, held(of.guard && !finite(*of.guard)) {
    if (held) return;
    Pack<float, V> gradients = read<float, V>(of.gradients, pack), first{}, second{};
    if (of.first) first = read<float, V>(of.first, pack);
    if (of.second) second = read<float, V>(of.second, pack);
    for (int v = 0; v < V; ++v) {
      const float w = weights.at[v];
      const float scaled = fminf(fmaxf(rates.scale * gradients.at[v], -rates.limit), rates.limit);
      const float step = rates.algorithm == OptimiserRates::kAdam ? adam(rates, scaled + rates.decay * w, w, first.at[v], second.at[v])
                                                                  : sgd(rates, scaled + rates.decay * w, of.first, first.at[v]);
      if (rates.meeting == OptimiserRates::kCorrection) correction.at[v] = rates.alpha * (w - central->at[v]);
      if (rates.meeting == OptimiserRates::kAccumulation) correction.at[v] = step;
      next.at[v] = w - step - (rates.meeting == OptimiserRates::kCorrection ? correction.at[v] : 0.0f);
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

  EVERYWHERE static float adam(const OptimiserRates& rates, float g, float w, float& first, float& second) {
    first = rates.beta1 * first + (1 - rates.beta1) * g;
    second = rates.beta2 * second + (1 - rates.beta2) * g * g;
    return rates.rate * (first / rates.bias1) / (sqrtf(second / rates.bias2) + rates.epsilon) + rates.rate * rates.decoupled * w;
  }
};

// Packs of every learner, learner by learner. Without a table it is the one in `only`.
template <int V> struct Optimise {
  const LearnerVectors* table;  // (k), or null
  LearnerVectors only;
  OptimiserRates rates;
  const float* central;  // (P) or null
  int64_t packs;         // of a learner
  int64_t first_pack;    // before which nothing is touched

  EVERYWHERE void operator()(int64_t i) const {
    const LearnerVectors& of = table ? table[i / packs] : only;
    const int64_t pack = first_pack + i % packs;
    Pack<float, V> z{};
    if (central) z = read<float, V>(central, pack);
    const LearnerStep<V> step(of, rates, &z, pack);
    write(of.next, pack, step.next);
    if (rates.meeting == OptimiserRates::kNone) return;
    Pack<float, V> given = rates.meeting == OptimiserRates::kSnapshot ? step.next : step.correction;
    if (rates.meeting == OptimiserRates::kAccumulation) {
      const Pack<float, V> before = read<float, V>(of.contribution, pack);
      for (int v = 0; v < V; ++v) given.at[v] += before.at[v];
    }
    write(of.contribution, pack, given);
  }
};

// A whole SMA round in one pass over the parameters: every learner's step and correction, in the table's order, and the central model's.
// Moves (5k + 4) floats a parameter with momentum; nothing is read twice.
template <int V> struct OptimiseAndAverage {
  const LearnerVectors* table;  // (k)
  int learners;
  OptimiserRates rates;  // whose meeting is kCorrection
  const float* central;  // (P)
  float* before;         // (P) the central model of the round before on entry, that of the next on return
  float mu;

  EVERYWHERE void operator()(int64_t pack) const {
    const Pack<float, V> z = read<float, V>(central, pack), old = read<float, V>(before, pack);
    Pack<float, V> sum = z;
    for (int k = 0; k < learners; ++k) {
      const LearnerStep<V> step(table[k], rates, &z, pack);
      write(table[k].next, pack, step.next);
      for (int v = 0; v < V; ++v) sum.at[v] += step.correction.at[v];
    }
    for (int v = 0; v < V; ++v) sum.at[v] += mu * (z.at[v] - old.at[v]);
    write(before, pack, sum);
  }
};

}  // namespace arbalest::cuda
