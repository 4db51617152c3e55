// Learners that average at every round's end.
//
// A round is `period` iterations of every member. A member's contribution is a copy (contributes_copies), or is read where the member keeps
// it until the next round. When all have arrived, the contributions are summed in the members' order and the rule is applied to the sum, by
// the threads that would otherwise wait. A member that goes on with its own weights needs the round's result only at its next contribution,
// so that waiting overlaps a whole round's gradients; gradients themselves are brought in buckets, each as soon as backward has finished
// it.
//
// Under a rule with slack a learner adopts the central model of some rounds ago, so that it may be that many rounds ahead of the slowest;
// then its contributions are copies in slots of its own, one for each round that may be open (GeePS: Cui et al., EuroSys 2016).
//
// This class knows the members of each round, their contributions, and the learners that wait; Averaging does the averaging. The owner's
// calls are in synchronous_group.cpp, the learners' calls in synchronous_group_learners.cpp, what opens and runs the rounds in
// synchronous_group_rounds.cpp, the slots in synchronous_group_slots.cpp, and what the hosts of a run agree on in
// synchronous_group_hosts.cpp.
#pragma once

#include <atomic>
#include <deque>

#include "sync/agreement.h"
#include "sync/averaging.h"
#include "sync/group_state.h"
#include "sync/members.h"
#include "sync/open_rounds.h"

namespace arbalest {

class SynchronousGroup final : public GroupState {
 public:
  SynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);
  // Over hosts, a group that is in a round waits some seconds until all hosts rest; after that they lose this one.
  ~SynchronousGroup() override;

  int64_t join(int learner, bool resumed, int device) override;
  std::optional<Departure> evict(int learner, std::optional<Departure> planned) override;
  void depart(int learner, Departure departure) override;
  void set_restarts(std::vector<int64_t> rounds) override;
  void stop() override;
  GroupStatus status() const override;
  int64_t iteration_of(int learner) const override;
  std::vector<AveragingSpan> averaging_spans() override { return averaging_.averaging_spans(); }
  double exchange_seconds() const override { return averaging_.exchange_seconds(); }

  void write_central(const std::byte* canonical) override;
  bool is_finite() const override;
  int64_t copy_central(size_t device, const Memory& vector) const override;
  void capture(Snapshot& snapshot) const override;
  void restore(const Snapshot& snapshot) override;

  Outcome enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) override;
  void begin(int learner, const Ticket& ticket, const LearnerVectors& vectors) override;
  Outcome acquire(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors, Clock::time_point deadline,
                  const std::atomic<bool>& cancelled) override;
  void offer(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors) override;
  Outcome await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) override;
  void update(int learner, const Ticket& ticket, const LearnerVectors& vectors) override;
  void follow() const override;
  void finish_due_step(int learner) override;
  bool report(int learner, int64_t iteration, double loss) override;
  size_t update_bytes(const Optimiser* optimiser) const override {
    return takes_gradients() ? averaging_.central().step_bytes() : optimiser->step_bytes(contribution_kind());
  }
  std::span<const Bucket> buckets() const override {
    return takes_gradients() ? std::span(averaging_.buckets()) : std::span<const Bucket>();
  }
  bool sends_buckets() const override { return takes_gradients() && averaging_.has_levels(); }
  std::span<const Bucket> pulled_buckets() const override {
    return pulls_buckets() ? std::span(averaging_.buckets()) : std::span<const Bucket>();
  }

 private:
  int64_t unopened_round() const override { return rounds_.empty() ? round_ : rounds_.back().number + 1; }
  bool all_over() const override { return rounds_.empty(); }
  int64_t whole_iterations() const override;
  // Of this process's learners.
  int64_t own_iterations() const;

  const SynchronousRule& rule() const { return *spec_.synchronous; }
  bool takes_gradients() const { return rule().central == CentralRule::optimiser; }
  bool takes_updates() const { return rule().central == CentralRule::updates; }
  // A learner that begins the next round at the central model leaves its weights alone until then: they need no copy.
  bool contributes_copies() const { return rule().central == CentralRule::sma || (!takes_gradients() && !rule().adopts); }
  // Learners that begin a round at the central model enter it at once, and wait for each bucket of the model before they read it. On
  // streams nobody waits, as the copy of the whole model is queued; vectors in the second tier have no levels for which to wait.
  bool pulls_buckets() const {
    return rule().adopts && !rule().pulls_whole && averaging_.buckets().size() > 1 && !averaging_.has_streams() && !spec_.moved.all;
  }
  // Its contributions lie in slots of its own.
  bool fills_slots() const { return rule().slack > 0 || takes_updates(); }
  // The contribution that a member's optimiser writes in a round's last step.
  OptimiserPass::ContributionKind contribution_kind() const {
    using enum OptimiserPass::ContributionKind;
    if (takes_updates()) return accumulation;
    return !contributes_copies() ? none : rule().central == CentralRule::sma ? correction : copy;
  }
  // The round whose central model is the oldest that a learner may adopt in this round.
  int64_t oldest_model(int64_t round) const { return std::max(schedule_.last_restart(round), round - rule().slack); }
  void check_device(int device) const;
  void check_device_of(const Ticket& ticket, const LearnerVectors& vectors) const;
  void refuse_in_progress() const override;
  void change_averaging(const RuleChange& change) override;
  void prepare_recording() override;
  int64_t longest_period() const override { return takes_gradients() || takes_updates() ? 1 : GroupState::longest_period(); }
  // For a thread without a stream: each device's own stream continues after the passes that the round has queued there.
  void follow_all() const;

  // Fixes the round's members and its samples.
  OpenRound& open(int64_t number);
  // Of the round, in the order in which they have joined; learners that have left among them, where a planned departure says so.
  std::vector<std::pair<int, const RoundMember*>> members_in(int64_t round) const;
  // The members, in the order in which they have joined.
  std::vector<int> learners_as_joined() const;
  // Of a member that leaves now.
  Departure departure_of(int learner, const RoundMember& member) const;
  // Whether the departure is within the member's next round.
  bool may_depart(const RoundMember& member, const Departure& departure) const;
  // Whether the member is at the iteration of the planned departure, and no member has entered that round yet.
  bool leaves_early(const RoundMember& member, const Departure& planned) const;
  // The learner is no member any more.
  void remove(Lock& lock, int learner);

  // Slots:
  std::vector<std::shared_ptr<Memory>> make_slots(size_t device) const;
  void give_slots(RoundMember& member, bool resumed);
  void capture_slots(Snapshot& snapshot) const;
  void restore_slots(const Snapshot& snapshot);
  // The learner's own updates that the model which it adopts does not have, in the order of their rounds.
  std::vector<std::shared_ptr<Memory>> own_updates(int learner, const Ticket& ticket) const;
  // Copies a range of the central model that the ticket names into the learner's weights.
  void adopt(int learner, const Ticket& ticket, const Bucket& range, const LearnerVectors& vectors);
  // Brings a bucket of gradients by a copy, if the round has not got it yet.
  void copy_to_slot(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors);

  // Over hosts:
  std::unique_ptr<Agreement> agreement_for_hosts();
  void schedule_changed() override;
  // Whether the learner may enter its round, or rests there.
  Outcome await_agreement(Lock& lock, int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled);
  bool rests_before(int64_t round) const;
  // Tells the messages that are due, takes those that all hosts have told, and opens the rounds that no learner of this process will enter.
  void go_on();
  // The hosts' thread has heard of the other hosts.
  void hear();
  void tell_messages();
  bool take_messages();
  // All members take part from the round before which the hosts rest.
  void begin_after_rest();
  void tell(AgreementMessage::Kind kind, int64_t round);
  // Of what the owners of all hosts' groups have to set equally.
  uint64_t settings_hash() const;
  int64_t iterations_before(int64_t round) const { return std::min(schedule_.first_iteration(round), schedule_.end()); }
  bool tells_now(int64_t round) const;
  void open_without_learners();
  bool has_learners_in(int64_t round) const;
  // No learner of this process takes part any more; the group goes on as a host without learners until all hosts rest.
  void give_up_learners();

  // Steps of enter(), which release the lock while they wait.
  // Until the learner's next iteration may begin, or the learner rests before it.
  Outcome await_start(Lock& lock, int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled);
  // Whether the step begins at the central model, and at which one. Fixed before the wait for that model: a restart that is planned
  // meanwhile is not one of this round, which is open.
  Ticket begin_ticket(const RoundMember& member, const OpenRound& round) const;
  // Until the model is there at which the step begins, unless the learner pulls its buckets one by one.
  Outcome await_adopted_model(Lock& lock, int learner, const Ticket& ticket, Clock::time_point deadline,
                              const std::atomic<bool>& cancelled);
  void complete_ticket(int learner, Ticket& ticket);

  Outcome await_round(Lock& lock, int learner, int64_t round, Clock::time_point deadline, const std::atomic<bool>& cancelled);
  // Until the rounds before this one are whole, or, of the last of them, this bucket is made.
  Outcome await_model(Lock& lock, int learner, int64_t round, std::optional<size_t> bucket, Clock::time_point deadline,
                      const std::atomic<bool>& cancelled);
  Outcome wait_for_model(Lock& lock, int learner, int64_t round, std::optional<size_t> bucket, Clock::time_point deadline,
                         const std::atomic<bool>& cancelled);
  bool has_model(int64_t round, std::optional<size_t> bucket) const {
    return round_ >= round || (bucket && round_ == round - 1 && averaging_.has_made(round_, *bucket));
  }
  void arrive(int learner, size_t device, int64_t round, size_t bucket, Contribution contribution);
  void arrive(int learner, const Ticket& ticket, const Contribution& contribution);
  // Hands the complete buckets of the round in progress to the averaging.
  void advance();
  void take_complete_gatherings();
  void begin_round(OpenRound& round);
  void finish_round();
  // Does pieces of the passes in progress until none is left. An error is thrown to the learners that wait for the round, not to the
  // caller.
  void help(Lock& lock);
  void take_sum(const BucketReduction& reduction);
  // While rounds are recorded: how far the learner, whose step is done, is from the central model of the round.
  void record_distance(int learner, const Ticket& ticket, const Memory& weights);
  // The same for all whose steps the round has just taken.
  void record_distances(const OpenRound& round);
  // Memory of the member's own for it; null where none is needed.
  std::shared_ptr<Memory> difference_for(const RoundMember& member) const;
  void fail(std::exception_ptr failure);

  Members<RoundMember> members_;
  std::map<int, RoundMember> counted_;   // that have left as planned, and that rounds still count
  std::map<int, Departure> departures_;  // of all that have left
  std::deque<RoundMember> resumable_;    // the slots of members as they were when the group was captured, as they had joined
  int64_t joined_ = 0;                   // learners so far
  std::optional<double> alpha_;          // of sma
  int64_t departed_iterations_ = 0;      // whole iterations, for a group whose last member has left
  OpenRounds rounds_;
  std::atomic<int64_t> whole_rounds_{0};  // round_, readable without the lock
  // Over hosts: those whose losses all of them have told, and this one.
  int64_t told_iterations_ = 0, own_told_iterations_ = 0;
  Averaging averaging_;                   // its threads call this object until they end
  std::unique_ptr<Agreement> agreement_;  // over hosts; last: so does the hosts' thread
};

}  // namespace arbalest
