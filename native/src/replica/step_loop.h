// The steps of one program of a replica: which segment comes when, and where a step waits for others. A step may stop in its middle, to
// answer the learner's mailbox, and is gone on with at the next call.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "core/clock.h"
#include "core/program.h"
#include "data/source.h"
#include "device/lease_user.h"
#include "replica/bound_program.h"
#include "replica/replica_memory.h"
#include "replica/run_report.h"
#include "replica/step_gradients.h"
#include "replica/step_measures.h"
#include "replica/step_pull.h"
#include "replica/step_samples.h"
#include "replica/training_group.h"

namespace arbalest {

// Whose steps they are.
struct StepOwner {
  ReplicaMemory& memory;
  TrainingGroup* group;  // null where it trains alone
  int learner;
  uint64_t seed;
  bool queues;       // kernels on a stream of its own, to be run when their turn comes
  LeaseUser* lease;  // null where its job has the device for itself
  std::atomic<bool>& cancelled;
};

class StepLoop {
 public:
  StepLoop(std::shared_ptr<const Program> program, const Source& source, const StepOwner& owner);

  RunReport run(const RunLimits& limits);
  Outcome run_segment(Segment segment, const RunLimits& limits);
  // The activations lie elsewhere for good: a step that has begun is given up, and its kernels are made again before the next one.
  void moved();

  BoundProgram& bound() { return bound_; }
  const BoundProgram& bound() const { return bound_; }

 private:
  Outcome run_alone(Segment segment, const RunLimits& limits);
  Outcome begin(const RunLimits& limits, int64_t done, Clock::time_point deadline, RunReport& report);
  void begin_batch();
  void refuse_unfinished(Segment segment) const;
  Outcome run_next(Clock::time_point deadline, RunReport& report);
  Outcome run_recorded(std::span<const RecordedPart> parts, RunReport& report);
  void end_segment(RunReport& report);
  // Goes on at the operator before which it has waited, if it has.
  Outcome run_operators(Segment segment, bool offered, Clock::time_point deadline, RunReport& report);
  Outcome take_device(Clock::time_point deadline, RunReport& report);
  void give_device_back();
  Outcome take_arena(Clock::time_point deadline, RunReport& report);
  void give_arena_back();
  bool takes_turns() const;
  const void* company() const;
  Readback* readback();
  // Whether the group takes the gradients of this batch as soon as backward has completed them.
  bool offers() const { return gradients_.last() && group_ && !group_->buckets().empty(); }
  void offer(const BoundOperator& op);
  bool check_loss();
  Outcome meet(Clock::time_point deadline, RunReport& report);
  void update();
  void complete(RunReport& report);
  Outcome left(Outcome outcome);
  void give_up_step();

  const StepOwner owner_;
  ReplicaMemory& memory_;
  BoundProgram bound_;
  TrainingGroup* const group_;  // that its steps meet: none where it does not train
  StepSamples samples_;
  StepMeasures measures_;
  StepGradients gradients_;
  StepPull pull_;

  std::optional<Ticket> ticket_;  // of the step that has begun
  Segment segment_ = Segment::load;
  size_t next_ = 0;  // operator of the segment
};

}  // namespace arbalest
