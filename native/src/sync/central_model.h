// The central model of synchronous rules, and what a round's end does to it: first the learners' contributions are summed, then the rule is
// applied to the sum. Both go by pieces, which threads share out; where nothing lies between the two, one pass does both.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "device/backend.h"
#include "device/vectors.h"
#include "replica/optimiser.h"
#include "replica/snapshot.h"
#include "replica/training_group.h"
#include "sync/evaluation_average.h"
#include "sync/rule.h"

namespace arbalest {

// A round that ends: `rate` is that of its last iteration.
struct RoundEnd {
  int64_t round = 0, first_iteration = 0;
  uint64_t position = 0, next_position = 0;
  double rate = 0;
  bool restarted = false;  // all learners began it at the central model, which has no past
};

// A step of a learner's optimiser that has begun and is yet to be taken, with the correction that comes of it.
struct DueStep {
  LearnerVectors learner;
  OptimiserPass pass;
};

class CentralModel {
 public:
  // Without `evaluated` it keeps no average for evaluation: one of several copies has that for all.
  CentralModel(Backend& backend, const GroupSpec& spec, const std::byte* initial_canonical, bool evaluated = true);

  const std::byte* weights(int64_t round) const { return models_[round & 1].data(); }
  // What is evaluated, where all rounds before `round` are whole.
  const std::byte* evaluated(int64_t round) const;
  // All that the rule has gathered is forgotten.
  void restart(const std::byte* canonical);
  // Where all rounds before `round` are whole.
  void capture(int64_t round, Snapshot& snapshot) const;
  void restore(int64_t round, const Snapshot& snapshot);

  // Whether the whole sum must be there before the rule is applied to any of it.
  bool needs_whole_sum() const { return optimiser_ && optimiser_->needs_norms(); }

  void begin_round(const RoundEnd& round);
  // sum()[i] = scale * the sum of contributions[.][i], over elements [begin, end).
  void sum(std::span<const void* const> contributions, double scale, size_t begin, size_t end) const;
  std::byte* sum() const { return sum_.data(); }
  // Where the whole sum is needed: after it, and before the first apply().
  void weigh();
  // The rule over elements [begin, end). `contributions` are those of `count` learners: their own vectors, or the sum of them.
  void apply(std::span<const void* const> contributions, size_t count, size_t begin, size_t end) const;
  // Of sma: the same with the steps that make the contributions; those that none makes are there already.
  void apply(std::span<const void* const> contributions, std::span<const std::shared_ptr<const DueStep>> due, size_t begin,
             size_t end) const;
  void finish_round();

 private:
  // rule(begin, end) over what learns of the elements, and the average over all of them.
  template <class Rule> void apply_where_it_learns(size_t begin, size_t end, Rule&& rule) const;
  double momentum() const { return round_.round == 0 || round_.restarted ? 0 : rule_.mu; }
  void apply_rule(std::span<const void* const> contributions, size_t count, size_t begin, size_t end) const;
  const void* gradients(std::span<const void* const> contributions, size_t begin, size_t end) const;

  Backend& backend_;
  const ParameterLayout& layout_;
  const SynchronousRule rule_;
  const Type type_;
  const std::vector<std::pair<size_t, size_t>> frozen_;
  Memory models_[2];  // by the round's parity; that of the round before while the next is made
  Memory sum_;        // where the rule takes more than one pass
  std::optional<Optimiser> optimiser_;
  std::optional<EvaluationAverage> average_;
  int64_t averaged_ = 0;  // rounds whose mean the central model is, under CentralRule::mean
  RoundEnd round_;        // the one that ends
};

}  // namespace arbalest
