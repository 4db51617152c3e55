// Learners that meet the central model whenever they come to it: they push what they have done and fetch what is there (Downpour), or train
// it in place (Hogwild). Nobody waits for a round; under a bound learners wait for those that are too far behind.
//
// A round is k times `period` iterations, with the k of its start, whoever makes them: iterations and positions are handed out one by one.
// A round is whole when all of its iterations are over. The order in which learners come decides what they get, so nothing here can be
// repeated.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "sync/contended_model.h"
#include "sync/group.h"
#include "sync/losses.h"
#include "sync/rates.h"
#include "sync/round_starts.h"

namespace arbalest {

class AsynchronousGroup final : public Group {
 public:
  AsynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);

  int64_t join(int learner, bool resumed, int device) override;
  int64_t leave(int learner) override;
  void evict(int learner) override;
  void set_rates(int64_t from_iteration, std::span<const float> rates) override;
  void set_restarts(std::vector<int64_t> rounds) override;
  void set_pause(int64_t round) override;
  void set_end(int64_t iterations) override;
  void stop() override;
  GroupStatus status() const override;
  int64_t iteration_of(int learner) const override;
  std::vector<float> losses(int64_t from_iteration) const override;
  void read_central(std::byte* canonical) const override;
  void write_central(const std::byte* canonical) override;
  bool is_finite() const override { return central_.is_finite(); }
  int64_t copy_central(std::byte* vector) const override;
  void capture(Snapshot& snapshot) const override;
  void restore(const Snapshot& snapshot) override;

  Entry enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) override;
  void begin(const Ticket& ticket, const LearnerVectors& vectors) override;
  Entry await(int, const Ticket&, Clock::time_point, const std::atomic<bool>&) override { return Entry::granted; }
  void update(int learner, const Ticket& ticket, const LearnerVectors& vectors) override;
  bool report(int learner, int64_t iteration, double loss) override;

  std::shared_ptr<Memory> shared_weights() const override { return rule().in_place ? central_.weights() : nullptr; }
  const ParameterLayout& layout() const override { return spec_.layout; }
  Backend& backend() const override { return backend_; }

 private:
  struct Member {
    int64_t until = kNever;  // first round that it no longer takes part in
    int64_t clock = 0;       // iterations behind it, from where the slowest stood when it joined
    int64_t own = 0;         // iterations since it joined
    int64_t iteration = 0;   // of the run: that it is in, or the one after its last
    bool fresh = true;
    std::optional<Ticket> ticket;         // of the iteration that it is in
    std::shared_ptr<Memory> accumulated;  // its updates since its last push
  };
  struct Round {
    int64_t first_iteration = 0, learners = 1, size = 0, taken = 0, outstanding = 0;
    uint64_t position = 0, next_position = 0;

    bool exhausted() const { return taken == size; }
  };

  const AsynchronousRule& rule() const { return *spec_.asynchronous; }
  // The round of which the next iteration will be.
  int64_t next_round() const { return rounds_.empty() || rounds_.rbegin()->second.exhausted() ? opened_ : opened_ - 1; }
  bool ends(int64_t round) const { return starts_.of(round) >= end_; }
  bool all_over() const;
  // A pass over the model by a learner that has left is soon done.
  void await_last_pushes(std::unique_lock<std::mutex>& lock) const;
  bool too_far_ahead(const Member& member) const;
  Round& open();
  Ticket hand_out(Member& member);
  int64_t whole_iterations() const;
  void close_rounds(std::unique_lock<std::mutex>& lock);
  void give_back(const Member& member);
  void push(Memory& accumulated);
  void clear(Memory& vector);

  Backend& backend_;
  const GroupSpec spec_;
  ContendedModel central_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<int, Member> members_;
  std::deque<Member> resumable_;     // as they were when the group was captured, in learner order
  std::map<int64_t, Round> rounds_;  // opened and not yet whole, by number
  RoundStarts starts_;
  int64_t opened_ = 0;            // how many have been opened
  int64_t whole_ = 0;             // how many are whole,
  int64_t iteration_ = 0;         // and their iterations
  int last_pushes_ = 0;           // under way, of learners that leave or are at the end
  bool averaging_round_ = false;  // the first of them, whose iterations are over, is being taken into the average
  uint64_t position_ = 0;
  int64_t pause_ = kNever, end_ = kNever;
  Rates rates_;
  Losses losses_;
  bool stopped_ = false;
  int64_t not_finite_at_ = -1;
};

}  // namespace arbalest
