// How a group keeps its learners together: plain data, made by the files of src/rules. In TypeScript: src/engine/contract/groups.ts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/program.h"
#include "device/moved_vectors.h"
#include "replica/optimiser.h"
#include "transport/make_levels.h"

namespace arbalest {

// What the learners bring to a round that begins at the central model z, and how it makes the next one, z':
//   sma        corrections c = alpha*(x - z) from where a learner is before the round's last update, which learners make too:
//              z' = z + sum c + mu*(z - z of the round before). x is the learner's weights w. Under Nesterov momentum v, as PyTorch's SGD
//              keeps both, w lies ahead of the learner by what momentum alone would do: x = w + rate*momentum*v
//   outer      weights: D = z - mean w is the gradient for the outer optimiser, momentum SGD, Nesterov or not, of rate `rate`; with
//              `per_rate` D is divided by the learners' rate and the step multiplied by it
//   mean       weights: z' is the mean of mean w over all rounds that began at iteration `mean_from` or later, and mean w itself before
//   optimiser  gradients, every iteration: the optimiser takes one step on z with their mean; learners have no optimiser, they adopt z
//   updates    the steps s of the learners' own optimisers, every iteration: z' = z - sum s; they adopt z
enum class CentralRule : uint8_t { sma, outer, mean, optimiser, updates };

struct SynchronousRule {
  CentralRule central = CentralRule::sma;
  std::optional<double> alpha;  // absent: min(1/k, 1/2)
  double mu = 0;
  double rate = 1, momentum = 0;
  bool nesterov = false, per_rate = false;
  int64_t mean_from = 0;
  bool adopts = false;           // every round begins at the central model
  int64_t period = 1, from = 0;  // iterations of a round; those before iteration `from` have one each
  bool lockstep = false;         // of sma: one pass takes the round's last step of all learners and that of the central model
  // Of optimiser and updates: in round c learners adopt the z of round max(0, c - slack), or the latest that is there. Those that read
  // their own writes subtract the updates of their own that it does not have yet.
  int64_t slack = 0;
  bool latest = false, read_my_writes = false;
  // For comparison: gradients are brought when backward has ended, and not as it finishes them; learners take the central model when all of
  // it is there, and not each bucket before its first reader.
  bool pushes_late = false, pulls_whole = false;
};

// Learners do not wait for rounds. A learner pushes its updates and fetches the model every `push` and `fetch` of its own iterations. If
// `in_place`, learners train the central model itself.
struct AsynchronousRule {
  bool in_place = false;
  int64_t push = 1, fetch = 1;
  std::optional<int64_t> slack;  // the most iterations that a learner may be ahead of the slowest; absent: no bound
  int64_t period = 1;            // a round is k times as many iterations, of any learners
};

// What a program changes of a rule during a run; what is absent stays as it is.
struct RuleChange {
  std::optional<std::optional<double>> alpha;  // absent within: min(1/k, 1/2)
  std::optional<double> momentum;              // mu
  std::optional<int64_t> period;
};

// An average of the central model over rounds, for evaluation. It takes the model at the end of each round in which the samples handed out
// come to `from` plus a whole multiple of `every`, neither of which need be whole. Before the first, the central model is evaluated.
struct EvaluationAverageSpec {
  enum class Kind : uint8_t { ema, swa, lawa };
  Kind kind = Kind::ema;
  double decay = 0;    // of ema: the factor by which a model's weight shrinks with each later one
  int64_t window = 1;  // of lawa: the number of models that are averaged, the last ones
  double from = 0, every = 1;
};

struct GroupSpec {
  ParameterLayout layout;
  int64_t batch = 1;  // samples that a learner takes in an iteration
  std::optional<SynchronousRule> synchronous;
  std::optional<AsynchronousRule> asynchronous;
  OptimiserSpec optimiser;  // the learners', for the rule that takes their gradients
  std::optional<EvaluationAverageSpec> average;
  int devices = 1;                // each has a copy of the central model
  std::vector<LevelSpec> levels;  // between the learners of a device and the central model, from the bottom
  MovedVectors moved = {};
};

}  // namespace arbalest
