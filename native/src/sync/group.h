// A group of learners around a central model: membership, positions in the data, and the rule that keeps the learners together, all
// numbered by round. Learners see it as a TrainingGroup, the owner as a GroupControl and a CentralModelAccess.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/buckets.h"
#include "core/program.h"
#include "device/backend.h"
#include "replica/snapshot.h"
#include "replica/training_group.h"
#include "sync/round_figures.h"
#include "sync/round_schedule.h"
#include "sync/rule.h"
#include "transport/averaging_spans.h"

namespace arbalest {

struct GroupStatus {
  int64_t round = 0, iterations = 0;
  uint64_t position = 0;
  std::vector<int> members, arrived;
  int64_t not_finite_at = -1;
};

// How a learner has left its group within a round. The rounds that were open count it as a member.
struct Departure {
  int64_t round = 0;         // in which it was,
  int64_t iteration = 0;     // the first of that round,
  int64_t iterations = 0;    // and those of the round that it had ended
  int64_t until = 0;         // the first round that does not count it
  std::vector<int> brought;  // the buckets of its round that have its contribution
};

// Membership and schedule. Everything takes effect at a round's number.
class GroupControl {
 public:
  virtual ~GroupControl() = default;

  // Returns the learner's first round; over hosts that rest before it, the one in which they go on. A learner that joins `resumed` has its
  // weights and its optimiser's states already; any other begins at the central model. If the group has several devices, the learner's
  // contributions are summed on `device` first.
  virtual int64_t join(int learner, bool resumed = false, int device = 0) = 0;
  // The round in progress is completed without the learner. Returns how it has left, now or before; nothing for one that was no member, and
  // under rules or over hosts where it cannot be repeated. A learner that leaves before anybody has entered the round of `planned`, where
  // it should have left within that round, leaves as planned.
  virtual std::optional<Departure> evict(int learner, std::optional<Departure> planned = {}) = 0;
  // The learner shall leave as another has left; `run` reports evicted then, and evict() ends its membership. Throws INVALID_STATE while a
  // round is in progress and where it cannot be repeated, INVALID_OPTION for a departure from another round than the next.
  virtual void depart(int learner, Departure departure) = 0;
  virtual void set_rates(int64_t from_iteration, std::span<const float> rates) = 0;
  virtual void set_restarts(std::vector<int64_t> rounds) = 0;
  // The first round that no learner enters; kNever lifts the pause.
  virtual void set_pause(int64_t round) = 0;
  // Moves the pause on. False, and nothing changes, where a learner may have been told to pause: it would not enter the rounds that others
  // do.
  virtual bool extend_pause(int64_t round) = 0;
  virtual void set_end(int64_t iterations) = 0;
  // From the next round on. Throws INVALID_STATE while a round is in progress, INVALID_OPTION for what the rule does not have or take.
  virtual void set_rule(const RuleChange& change) = 0;
  // Ends all waiting and running in the group now.
  virtual void stop() = 0;

  virtual GroupStatus status() const = 0;
  // Iterations of the run that the learner has completed or that were completed before it joined; the group's own for a learner that is no
  // member.
  virtual int64_t iteration_of(int learner) const = 0;
  virtual std::vector<float> losses(int64_t from_iteration) const = 0;
  // When the rule and the levels were at work since the last call. The first call starts the recording.
  virtual std::vector<AveragingSpan> averaging_spans() { return {}; }
  // Of the whole rounds after this one, at most the newest 4096. The first call starts the recording.
  virtual std::vector<RoundFigures> round_figures(int64_t after) = 0;
  // Of a sample of the rounds, which is taken while this is called at least every two seconds.
  virtual std::vector<RoundFigures> sampled_figures(int64_t after) = 0;
};

// The central model as the owner reads, replaces and saves it.
class CentralModelAccess {
 public:
  virtual ~CentralModelAccess() = default;

  // Reads the model that is evaluated, saved and exported: the evaluation average, or the central model if there is none.
  virtual void read_central(std::byte* canonical) const = 0;
  // Only while no round is in progress. The rule forgets what it has gathered.
  virtual void write_central(const std::byte* canonical) = 0;
  // Whether all numbers of the central model and of the evaluation average are finite. The loss does not show it: a ReLU turns NaN into
  // zero.
  virtual bool is_finite() const = 0;

  // Takes a copy of all that the group resumes from, while no round is in progress. `fresh.<learner>` counts 1 for a member that has yet to
  // begin.
  virtual void capture(Snapshot& snapshot) const = 0;
  // Before any learner joins.
  virtual void restore(const Snapshot& snapshot) = 0;
};

class Group : public TrainingGroup, public GroupControl, public CentralModelAccess {
 public:
  // Of the first device.
  virtual Backend& backend() const = 0;
  // Where copies of its vectors lie.
  virtual Backend& snapshots() const = 0;
};

// The buckets in which a group with levels sums its vectors, in the order in which they are started. `pulls`: learners may wait for each
// bucket by itself.
std::vector<Bucket> level_buckets(const SynchronousRule& rule, const ParameterLayout& layout, bool pulls = true,
                                  const BucketSizes& sizes = kOfThreads);

// Throws INVALID_OPTION, INVALID_MODEL, INVALID_PROGRAM, OUT_OF_MEMORY.
std::unique_ptr<Group> make_group(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);

}  // namespace arbalest
