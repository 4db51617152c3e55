// The central model of synchronous rules. At a round's end the learners' contributions are summed, and the rule is applied to the sum.
// Threads share both out in pieces; if nothing lies between the two, one pass does both.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/backend.h"
#include "device/parameter_vectors.h"
#include "replica/optimiser.h"
#include "replica/snapshot.h"
#include "replica/training_group.h"
#include "sync/evaluation_average.h"
#include "sync/rule.h"
#include "transport/chunk_rule.h"

namespace arbalest {

// A round that all members have contributed to. `rate` is that of its last iteration.
struct ClosingRound {
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

class CentralModel final : public ChunkRule {
 public:
  // Without `evaluated` it keeps no average for evaluation: of several copies, one has the average.
  CentralModel(Backend& backend, const GroupSpec& spec, const std::byte* initial_canonical, bool evaluated = true);

  // The present one, and as many before it as the rule reads.
  const std::byte* weights(int64_t round) const { return model(round).data(); }
  // The evaluation average, or the central model if there is none. All rounds before `round` must be whole.
  const std::byte* evaluated(int64_t round) const;
  // Of sma: the momentum of the rounds that end from here on.
  void set_momentum(double momentum) { rule_.mu = momentum; }
  double momentum() const { return rule_.mu; }
  // The rule discards its momentum and averages.
  void replace(const std::byte* canonical);
  // All rounds before `round` must be whole.
  void capture(int64_t round, Snapshot& snapshot) const;
  void restore(int64_t round, const Snapshot& snapshot);

  // Bytes that a step of its optimiser reads and writes.
  size_t step_bytes() const { return optimiser_->step_bytes(OptimiserPass::ContributionKind::none); }
  // Elements that one thread should take at a time.
  size_t piece() const { return std::max(backend_.piece(), optimiser_ ? optimiser_->piece() : 0); }
  // Whether the rule needs the whole sum before it is applied to any part of it: for the norm of the gradients.
  bool needs_whole_sum() const { return optimiser_ && optimiser_->needs_norms(); }

  void begin_averaging(const ClosingRound& round);
  // sum()[i] = scale * the sum of contributions[.][i], over elements [begin, end).
  void sum(std::span<const void* const> contributions, double scale, size_t begin, size_t end) const;
  std::byte* sum() const { return sum_.data(); }
  // If the rule needs the whole sum: after the sum, and before the first apply().
  void measure_norms();
  // The rule over elements [begin, end). `contributions` are the vectors of `count` learners, or one vector that is their sum.
  void apply(std::span<const void* const> contributions, size_t count, size_t begin, size_t end) const;
  // In lockstep: also takes the due steps, which write their contributions. Contributions without a due step have been written already.
  void apply_due_steps(std::span<const void* const> contributions, std::span<const std::shared_ptr<const DueStep>> due, size_t begin,
                       size_t end) const;
  void end_averaging();

  // Where the hosts that own chunks apply the rule, the owner calls make(), and then every host adopts `next`, this one's own model or the
  // one of its first device, over all elements.
  std::byte* result(int64_t round) override { return model(round + 1).data(); }
  void make(std::span<const void* const> sums, int64_t learners, size_t begin, size_t end) override;
  void adopt(const std::byte* next, size_t begin, size_t end) const;

 private:
  // Calls rule(begin, end) for the ranges that are trained.
  template <class Rule> void for_trained(size_t begin, size_t end, Rule&& rule) const;
  const Memory& model(int64_t round) const { return models_[static_cast<size_t>(round) % models_.size()]; }
  // How many models before the present one a later round reads: sma's momentum reads one.
  int64_t past_read() const { return std::max<int64_t>(rule_.slack, 1); }
  int64_t turns() const { return static_cast<int64_t>(models_.size()); }
  double mu() const { return round_.round == 0 || round_.restarted ? 0 : rule_.mu; }
  void apply_rule(std::span<const void* const> contributions, size_t count, size_t begin, size_t end) const;
  void take_into_average(size_t begin, size_t end) const;
  const void* gradients(std::span<const void* const> contributions, size_t begin, size_t end) const;

  Backend& backend_;
  const ParameterLayout& layout_;
  SynchronousRule rule_;
  const Type type_;
  const std::vector<std::pair<size_t, size_t>> frozen_;
  std::vector<Memory> models_;  // in turns: one is being made
  Memory sum_;                  // if the rule takes more than one pass
  std::optional<Optimiser> optimiser_;
  std::optional<EvaluationAverage> average_;
  int64_t averaged_ = 0;  // rounds whose mean the central model is, under CentralRule::mean
  ClosingRound round_;
};

}  // namespace arbalest
