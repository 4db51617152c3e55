// A group of learners around a central model: membership, positions in the data, and how the learners are kept together, all numbered by
// round. SynchronousGroup averages at every round's end; in AsynchronousGroup nobody waits for rounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/program.h"
#include "device/backend.h"
#include "device/vectors.h"
#include "replica/optimiser.h"
#include "replica/snapshot.h"
#include "sync/rule.h"
#include "transport/level_spans.h"

namespace arbalest {

// One member's share of one iteration.
struct Ticket {
  int64_t round = 0, iteration = 0;
  uint64_t position = 0;  // of its batches in the sequence of samples
  size_t device = 0;      // whose central model it meets
  double rate = 0, alpha = 0;
  bool contributes = false;  // something of it meets the central model: the round's last iteration
  bool adopts = false;       // takes the central model before anything else,
  bool forgets = false;      // with an optimiser as new
};

enum class Entry { granted, waiting, paused, evicted, cancelled };

struct GroupStatus {
  int64_t round = 0, iterations = 0;
  uint64_t position = 0;
  std::vector<int> members, arrived;
  int64_t not_finite_at = -1;
};

// What a group sees of a replica that trains in it.
struct LearnerVectors {
  std::shared_ptr<Memory> weights, gradients;
  std::shared_ptr<Optimiser> optimiser;  // null where the group has it
};

// Elements of the parameter vector whose gradients travel together.
struct Bucket {
  size_t begin = 0, end = 0;
};

class Group {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  virtual ~Group() = default;

  // From the owner's side; everything takes effect at a round's number, which is returned.
  // A learner that joins `resumed` has its weights and its optimiser's states already; any other begins at the central model.
  // It meets the others of its device first, where the group has several.
  virtual int64_t join(int learner, bool resumed = false, int device = 0) = 0;
  virtual int64_t leave(int learner) = 0;
  virtual void evict(int learner) = 0;
  virtual void set_rates(int64_t from_iteration, std::span<const float> rates) = 0;
  virtual void set_restarts(std::vector<int64_t> rounds) = 0;
  virtual void set_pause(int64_t round) = 0;
  virtual void set_end(int64_t iterations) = 0;
  virtual void stop() = 0;
  virtual GroupStatus status() const = 0;
  // That the learner has made, those before it joined counted in: where it is itself, whoever is ahead or behind.
  virtual int64_t iteration_of(int learner) const = 0;
  virtual std::vector<float> losses(int64_t from_iteration) const = 0;
  // What is evaluated, saved and exported: the evaluation average where there is one, else the central model.
  virtual void read_central(std::byte* canonical) const = 0;
  // The central model that a device has: the same on all, bit for bit.
  virtual void read_device_central(int, std::byte* canonical) const { read_central(canonical); }
  // What the rule and the levels have done since it was asked last.
  virtual std::vector<LevelSpan> level_spans() { return {}; }
  // Whether the central model and what is evaluated in its place have finite numbers alone. Kernels may hide one that is none: a ReLU takes
  // it for a zero.
  virtual bool is_finite() const = 0;
  // Only while no round is in progress. What the rule has gathered so far is forgotten.
  virtual void write_central(const std::byte* canonical) = 0;
  // The same of the last whole round, which is returned, into a vector laid out like the parameters.
  virtual int64_t copy_central(std::byte* vector) const = 0;

  // All that it goes on from; while no round is in progress. `fresh.<learner>` counts 1 for a member that has yet to begin.
  virtual void capture(Snapshot& snapshot) const = 0;
  // Before anybody joins.
  virtual void restore(const Snapshot& snapshot) = 0;

  // From a learner's thread, in the order of a step.
  virtual Entry enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) = 0;
  // Takes the central model where the ticket says so.
  virtual void begin(const Ticket& ticket, const LearnerVectors& vectors) = 0;
  // The gradient of a bucket is whole. Only where buckets() has any.
  virtual void offer(int, const Ticket&, size_t, const LearnerVectors&) {}
  // Until what the update reads is there.
  virtual Entry await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) = 0;
  // The optimiser's step, with whatever the rule adds to it.
  virtual void update(int learner, const Ticket& ticket, const LearnerVectors& vectors) = 0;
  // What the calling thread's stream does from here on comes after what the group has queued on its learners' vectors.
  virtual void follow() const {}
  // The learner's vectors are about to be read or written between two steps: what the group has yet to do there is done, or queued.
  virtual void settle(int) {}
  // The iteration is over for this member. False where the loss is not finite: the group has been stopped.
  virtual bool report(int learner, int64_t iteration, double loss) = 0;

  // Where the group takes gradients: what it takes at once, in the order in which backward is likely to finish them.
  virtual std::span<const Bucket> buckets() const { return {}; }
  // Where learners train the central model itself: the weights of every replica.
  virtual std::shared_ptr<Memory> shared_weights() const { return nullptr; }

  virtual const ParameterLayout& layout() const = 0;
  virtual Backend& backend() const = 0;
};

std::unique_ptr<Group> make_group(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);

}  // namespace arbalest
