// The group that a replica trains in, as the replica's steps see it. sync/ implements it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "core/buckets.h"
#include "core/clock.h"
#include "core/program.h"
#include "device/parameter_vectors.h"
#include "replica/optimiser.h"
#include "replica/run_report.h"

namespace arbalest {

// One member's share of one iteration.
struct Ticket {
  int64_t round = 0, iteration = 0;
  uint64_t position = 0;  // of its batches in the sequence of samples
  size_t device = 0;      // whose copy of the central model it reads
  int64_t model = 0;      // the round at whose begin the central model was as the member reads it
  double rate = 0, alpha = 0;
  bool contributes = false;         // in the round's last iteration: the member brings its contribution
  bool adopts = false;              // the step begins at the central model,
  bool pulls = false;               // of which it takes each bucket by itself
  bool restarts_optimiser = false;  // the step begins with a new optimiser
};

// The vectors of a replica that its group reads and writes.
struct LearnerVectors {
  std::shared_ptr<Memory> weights, gradients;
  std::shared_ptr<Optimiser> optimiser;  // null where the group has it
};

// Its calls come from the learners' threads, in the order of a step.
class TrainingGroup {
 public:
  virtual ~TrainingGroup() = default;

  virtual const ParameterLayout& layout() const = 0;

  // Hands out the learner's next iteration, once the round before allows it.
  virtual Outcome enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) = 0;
  // Copies the central model into the weights if the ticket says so, unless it pulls.
  virtual void begin(int learner, const Ticket& ticket, const LearnerVectors& vectors) = 0;
  // For a ticket that pulls: copies a bucket of the central model into the weights, once that bucket is made. To be called for each of them
  // before anything reads it, and for all before a gradient is written: the round before may still read those of the last step.
  virtual Outcome acquire(int, const Ticket&, size_t, const LearnerVectors&, Clock::time_point, const std::atomic<bool>&) {
    return Outcome::done;
  }
  // The gradient of a bucket is complete. Called only if buckets() has any.
  virtual void offer(int, const Ticket&, size_t, const LearnerVectors&) {}
  // Waits until the update can read everything that it needs of the group.
  virtual Outcome await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) = 0;
  // The optimiser's step, and what the rule adds to it.
  virtual void update(int learner, const Ticket& ticket, const LearnerVectors& vectors) = 0;
  // The loss of the member's iteration, which is over unless the loss is not finite: then the group is stopped, and the result is false.
  virtual bool report(int learner, int64_t iteration, double loss) = 0;

  // The calling thread's stream continues after all work that the group has queued on its learners' vectors.
  virtual void follow() const {}
  // Called before the learner's vectors are read or written between two steps: takes, or queues, the step that the group has not yet taken.
  virtual void finish_due_step(int) {}

  // The buckets in which the group takes gradients, in the order in which backward is likely to finish them; none where it takes no
  // gradients.
  virtual std::span<const Bucket> buckets() const { return {}; }
  // Whether its buckets go to other devices or hosts, which takes time that backward can hide.
  virtual bool sends_buckets() const { return false; }
  // The buckets in which tickets that pull take the central model; none where no ticket does.
  virtual std::span<const Bucket> pulled_buckets() const { return {}; }
  // Whether the group has the optimiser, and steps the central model with the learners' gradients.
  bool has_optimiser() const { return !buckets().empty(); }
  // For which the group has had something under way to other hosts.
  virtual double exchange_seconds() const { return 0; }
  // Bytes that the update of a round's last step reads and writes. `optimiser`: the learner's own, null where the group has it.
  virtual size_t update_bytes(const Optimiser* optimiser) const = 0;
  // The weights of every replica, where learners train the central model itself; else null.
  virtual std::shared_ptr<Memory> shared_weights() const { return nullptr; }

  // Copies the model that is evaluated into a vector of the device: the evaluation average if there is one, otherwise the central model of
  // the last whole round. Returns the number of that round. The calling thread uses a stream of that device.
  virtual int64_t copy_central(size_t device, const Memory& vector) const = 0;
};

}  // namespace arbalest
