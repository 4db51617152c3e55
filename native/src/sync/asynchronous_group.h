// Learners that meet the central model at times of their own: they push their updates and fetch the model (Downpour), or train it in place
// (Hogwild). They do not wait for rounds. With a bound on staleness a learner waits for the learners that are too far behind.
//
// A round is k times `period` iterations, whichever learners make them; k is that of the round's start. Iterations and positions are handed
// out one by one. A round is whole when all of its iterations are over. Learners get them in the order in which they ask, so that runs
// cannot be repeated bit for bit.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "sync/asynchronous_central_model.h"
#include "sync/group_state.h"
#include "sync/members.h"

namespace arbalest {

class AsynchronousGroup final : public GroupState {
 public:
  AsynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);

  int64_t join(int learner, bool resumed, int device) override;
  std::optional<Departure> evict(int learner, std::optional<Departure> planned) override;
  void depart(int learner, Departure departure) override;
  // Throws INVALID_OPTION unless `rounds` is empty.
  void set_restarts(std::vector<int64_t> rounds) override;
  GroupStatus status() const override;
  int64_t iteration_of(int learner) const override;

  void write_central(const std::byte* canonical) override;
  bool is_finite() const override { return central_.is_finite(); }
  int64_t copy_central(size_t device, const Memory& vector) const override;
  void capture(Snapshot& snapshot) const override;
  void restore(const Snapshot& snapshot) override;

  Outcome enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) override;
  void begin(int learner, const Ticket& ticket, const LearnerVectors& vectors) override;
  Outcome await(int, const Ticket&, Clock::time_point, const std::atomic<bool>&) override { return Outcome::done; }
  void update(int learner, const Ticket& ticket, const LearnerVectors& vectors) override;
  bool report(int learner, int64_t iteration, double loss) override;
  size_t update_bytes(const Optimiser* optimiser) const override { return optimiser->step_bytes(contribution_kind()); }
  std::shared_ptr<Memory> shared_weights() const override { return rule().in_place ? central_.weights() : nullptr; }

 private:
  // Its contribution is the sum of its updates since its last push.
  struct FreeMember : Member {
    int64_t bounded_iterations = 0;  // iterations made, counted from the slowest member's at its joining; the bound compares these
    int64_t own_iterations = 0;      // iterations since it joined
    std::optional<Ticket> ticket;    // of the iteration that it is in
    double waited = 0;               // seconds before its next iteration, while rounds are recorded
  };
  struct FreeRound {
    int64_t first_iteration = 0, learners = 1, size = 0, taken = 0, outstanding = 0;
    uint64_t position = 0, next_position = 0;

    bool exhausted() const { return taken == size; }
    // Iterations of which every learner's share has been handed out.
    int64_t taken_iterations() const { return first_iteration + taken / learners; }
  };

  class UnlockedWork;

  int64_t unopened_round() const override { return opened_; }
  int64_t whole_iterations() const override;

  const AsynchronousRule& rule() const { return *spec_.asynchronous; }
  // The contribution that a member's optimiser writes in every step.
  OptimiserPass::ContributionKind contribution_kind() const {
    return rule().in_place ? OptimiserPass::ContributionKind::none : OptimiserPass::ContributionKind::accumulation;
  }
  // The number of the round that the next iteration belongs to.
  int64_t next_round() const { return rounds_.empty() || rounds_.rbegin()->second.exhausted() ? opened_ : opened_ - 1; }
  bool all_over() const override;
  // Waits, not for long, until the learners that have reached the end, or have left, have pushed all of their updates.
  void await_last_pushes(Lock& lock) const;
  bool too_far_ahead(const FreeMember& member) const;
  void refuse_in_progress() const override;
  void change_averaging(const RuleChange& change) override;
  // The round of the next iteration, opened with its number of iterations if need be.
  FreeRound& open();
  Ticket hand_out(int learner, FreeMember& member);
  // The member's iteration is over, or has been given up.
  void close_ticket(const FreeMember& member);
  void close_rounds(Lock& lock);
  // Whether it has made steps since its last push.
  bool has_unpushed(const FreeMember& member) const;
  void push(Memory& updates);
  // Of a learner that makes no further step, without the lock.
  void push_last(Lock& lock, Memory& updates);
  void clear(Memory& vector);

  AsynchronousCentralModel central_;
  Members<FreeMember> members_;
  std::deque<FreeMember> resumable_;     // as they were when the group was captured, in learner order
  std::map<int64_t, FreeRound> rounds_;  // opened and not yet whole, by number
  int64_t opened_ = 0;                   // rounds that have been opened
  int last_pushes_ = 0;                  // pushes under way of learners that have reached the end or have left
  // 1 while the first of the open rounds, whose iterations are over, is being taken into the evaluation average.
  int averages_under_way_ = 0;
};

}  // namespace arbalest
