// Learners that average at every round's end.
//
// A round is `period` iterations of every member. What a member brings to it lies in a slot of its own, or where the member keeps it until
// the next round; when all have arrived the contributions are summed in the members' order and the rule is applied to the sum, by whoever
// would otherwise wait. A member that goes on with its own weights needs the round's result only at its next contribution, so waiting
// overlaps a whole round's gradients; gradients themselves are brought in buckets, each as soon as backward has finished it.
//
// Here is who brings what to which round, and who waits for it; what becomes of it is Averaging's. What the owner of the group asks is
// answered in synchronous_group.cpp, what its learners ask in synchronous_learners.cpp.
#pragma once

#include <condition_variable>
#include <mutex>

#include "sync/averaging.h"
#include "sync/course.h"
#include "sync/group.h"
#include "sync/losses.h"
#include "sync/members.h"
#include "sync/open_rounds.h"

namespace arbalest {

class SynchronousGroup final : public Group {
 public:
  SynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);

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
  void read_device_central(int device, std::byte* canonical) const override;
  std::vector<LevelSpan> level_spans() override { return averaging_.level_spans(); }
  void write_central(const std::byte* canonical) override;
  bool is_finite() const override;
  int64_t copy_central(std::byte* vector) const override;
  void capture(Snapshot& snapshot) const override;
  void restore(const Snapshot& snapshot) override;

  Entry enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) override;
  void begin(const Ticket& ticket, const LearnerVectors& vectors) override;
  void offer(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors) override;
  Entry await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) override;
  void update(int learner, const Ticket& ticket, const LearnerVectors& vectors) override;
  void follow() const override;
  void settle(int learner) override;
  bool report(int learner, int64_t iteration, double loss) override;

  std::span<const Bucket> buckets() const override {
    return takes_gradients() ? std::span(averaging_.buckets()) : std::span<const Bucket>();
  }
  const ParameterLayout& layout() const override { return spec_.layout; }
  Backend& backend() const override { return backend_; }

 private:
  const SynchronousRule& rule() const { return *spec_.synchronous; }
  bool takes_gradients() const { return rule().central == CentralRule::optimiser; }
  // Whoever begins the next round at the central model leaves its weights alone until then: they need no copy.
  bool takes_copies() const { return rule().central == CentralRule::sma || (!takes_gradients() && !rule().adopts); }
  Round& open(int64_t number);
  void refuse_in_progress() const;
  void follow_all() const;
  void check_device(int device) const;
  void check_place(const Ticket& ticket, const LearnerVectors& vectors) const;
  int64_t last_opened() const { return rounds_.empty() ? round_ - 1 : rounds_.back().number; }
  Entry await_round(std::unique_lock<std::mutex>& lock, int learner, int64_t round, Clock::time_point deadline,
                    const std::atomic<bool>& cancelled);

  void arrive(int learner, size_t device, int64_t round, size_t bucket, Contribution contribution);
  void arrive(int learner, const Ticket& ticket, const Contribution& contribution);
  // Of the round in progress: begins what can be done with what is there.
  void advance();
  void begin_round(Round& round);
  void finish_round();

  Backend& backend_;
  const GroupSpec spec_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Members members_;
  OpenRounds rounds_;
  Course course_;
  std::atomic<int64_t> whole_rounds_{0};  // round_, readable while spinning
  int64_t round_ = 0;                     // the central model's number: whole rounds behind it,
  int64_t iteration_ = 0;                 // and their iterations
  uint64_t position_ = 0;                 // where the next round begins in the sequence of samples
  Losses losses_;
  bool stopped_ = false;
  int64_t not_finite_at_ = -1;
  Averaging averaging_;  // last, as its threads come here
};

}  // namespace arbalest
