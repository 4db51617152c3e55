// How a group keeps its learners together: plain data, made by the files of src/actors/sync, whose other side is src/engine/contract.ts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/program.h"
#include "replica/optimiser.h"

namespace arbalest {

// How what the learners bring to a round meets the central model z, which begins it as z:
//   sma        corrections c = alpha*(x - z) from where a learner is before the round's last update, which learners make too:
//              z' = z + sum c + mu*(z - z of the round before). x is its weights w; under Nesterov momentum v, as PyTorch's SGD keeps both,
//              w lies ahead of it by what momentum alone would do: x = w + rate*momentum*v
//   outer      weights: D = z - mean w, which the outer optimiser takes for a gradient: momentum SGD, Nesterov or not, of rate `rate`; with
//              `per_rate` D is divided by the learners' rate and the step multiplied by it
//   mean       weights: z' is the mean of mean w over all rounds that began at iteration `mean_from` or later, and before these mean w
//   itself optimiser  gradients, every iteration: the optimiser takes one step on z with their mean, and learners have none; they adopt z
enum class CentralRule : uint8_t { sma, outer, mean, optimiser };

struct SynchronousRule {
  CentralRule central = CentralRule::sma;
  std::optional<double> alpha;  // absent: min(1/k, 1/2)
  double mu = 0;
  double rate = 1, momentum = 0;
  bool nesterov = false, per_rate = false;
  int64_t mean_from = 0;
  bool adopts = false;           // every round begins at the central model
  int64_t period = 1, from = 0;  // iterations of a round; those before iteration `from` have one each
  bool lockstep = false;         // of sma: the round's last step is taken by all learners at once, and in one pass with the central model's
};

// Learners do not wait for rounds. `push` and `fetch` count a learner's own iterations; in place, learners train the central model itself.
struct AsynchronousRule {
  bool in_place = false;
  int64_t push = 1, fetch = 1;
  std::optional<int64_t> slack;  // no learner is more iterations than this ahead of the slowest; absent: no bound
  int64_t period = 1;            // a round is k times so many iterations, whoever makes them
};

// An average of the central model over rounds, for evaluation. Taken at the end of each round in which the samples handed out come to
// `from` plus a whole multiple of `every`; until the first, it is the central model.
struct EvaluationAverage {
  enum class Kind : uint8_t { ema, swa, lawa };
  Kind kind = Kind::ema;
  double decay = 0;    // of ema: a model weighs so much less each round
  int64_t window = 1;  // of lawa: how many are averaged, the last ones
  uint64_t from = 0, every = 1;
};

// What lies between the learners of a device and the central model, from the bottom.
struct LevelSpec {
  enum class Kind : uint8_t { devices, loopback };
  Kind kind = Kind::devices;
  double latency = 0;  // of the loopback, in seconds
};

struct GroupSpec {
  ParameterLayout layout;
  int64_t batch = 1;  // samples that a learner takes in an iteration
  std::optional<SynchronousRule> synchronous;
  std::optional<AsynchronousRule> asynchronous;
  OptimiserSpec optimiser;  // the learners', for the rule that takes their gradients
  std::optional<EvaluationAverage> average;
  int devices = 1;  // each has a central model of its own
  std::vector<LevelSpec> levels;
};

}  // namespace arbalest
