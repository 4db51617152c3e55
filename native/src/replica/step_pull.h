// How a step takes the central model that it begins at: as a whole before its first operator, or each bucket just before the first forward
// operator that reads it, so that sums which are still under way overlap the operators before that one.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "core/clock.h"
#include "replica/replica_memory.h"
#include "replica/run_report.h"
#include "replica/training_group.h"

namespace arbalest {

class StepPull {
 public:
  // `group`: null where the step meets none.
  StepPull(TrainingGroup* group, int learner, ReplicaMemory& memory) : group_(group), learner_(learner), memory_(memory) {}

  // `by_bucket`: the step may wait between two operators.
  void begin(const Ticket& ticket, bool by_bucket);
  // Before the step's first operator: all of it, unless it comes by bucket. `waiting` may be gone on with.
  Outcome open(const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled, RunReport& report);
  // Before an operator that is the first one to read these.
  Outcome take(const Ticket& ticket, std::span<const size_t> buckets, Clock::time_point deadline, const std::atomic<bool>& cancelled,
               RunReport& report);
  // All that has not come yet.
  Outcome take_all(const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled, RunReport& report);

 private:
  Outcome take(const Ticket& ticket, size_t bucket, Clock::time_point deadline, const std::atomic<bool>& cancelled);

  TrainingGroup* const group_;
  const int learner_;
  ReplicaMemory& memory_;
  bool by_bucket_ = false;
  std::vector<bool> missing_;  // by bucket
};

}  // namespace arbalest
