#include "sync/asynchronous_group.h"

#include <algorithm>
#include <string>
#include <utility>

namespace arbalest {
namespace {

// A waiting thread looks at its flags this often.
constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

// Work of one thread without the lock, counted so that others can wait for it: they hear of its end, also where it throws.
class AsynchronousGroup::UnlockedWork {
 public:
  UnlockedWork(AsynchronousGroup& group, Lock& lock, int& count) : group_(group), lock_(lock), count_(count) {
    ++count_;
    lock_.unlock();
  }
  ~UnlockedWork() {
    lock_.lock();
    --count_;
    group_.changed_.announce();
  }
  UnlockedWork(const UnlockedWork&) = delete;
  UnlockedWork& operator=(const UnlockedWork&) = delete;

 private:
  AsynchronousGroup& group_;
  Lock& lock_;
  int& count_;
};

AsynchronousGroup::AsynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical)
    : GroupState(backend, std::move(spec)), central_(backend_, spec_, initial_canonical) {}

int64_t AsynchronousGroup::join(int learner, bool resumed, int) {
  const std::lock_guard lock(mutex_);
  members_.check_absent(learner);
  FreeMember member;
  // The others must not wait for a learner that comes later as if it were behind.
  int64_t slowest = kNever;
  for (const auto& [id, each] : members_) slowest = std::min(slowest, each.bounded_iterations);
  member.bounded_iterations = slowest == kNever ? 0 : slowest;
  member.fresh = !resumed;
  member.iteration = whole_iterations();
  // In a run that is resumed the learners have other numbers, in the same order.
  if (resumed && !resumable_.empty()) {
    member.own_iterations = resumable_.front().own_iterations;
    member.contribution = resumable_.front().contribution;
    resumable_.pop_front();
  }
  if (!rule().in_place && !member.contribution) member.contribution = std::make_shared<Memory>(backend_, spec_.layout.bytes);
  members_.add(learner, std::move(member));
  return next_round();
}

std::optional<Departure> AsynchronousGroup::evict(int learner, std::optional<Departure>) {
  Lock lock(mutex_);
  const FreeMember* const member = members_.find(learner);
  if (!member) return std::nullopt;
  close_ticket(*member);
  // Of one that is within an iteration, its thread may be writing them.
  const std::shared_ptr<Memory> updates = !member->ticket && has_unpushed(*member) ? member->contribution : nullptr;
  members_.remove(learner);
  changed_.announce();
  try {
    if (updates) push_last(lock, *updates);
  } catch (const Error&) {
    // The learners that are left meet the same fault.
  }
  close_rounds(lock);
  return std::nullopt;
}

void AsynchronousGroup::depart(int, Departure) {
  throw Error("INVALID_STATE", "departure: learners that meet as they come cannot repeat it");
}

void AsynchronousGroup::set_restarts(std::vector<int64_t> rounds) {
  if (!rounds.empty()) throw Error("INVALID_OPTION", "restarts: received some; asynchronous learners have no common start");
}

GroupStatus AsynchronousGroup::status() const {
  const std::lock_guard lock(mutex_);
  return {round_, whole_iterations(), position_, members_.learners(), {}, losses_.not_finite_at()};
}

int64_t AsynchronousGroup::iteration_of(int learner) const {
  const std::lock_guard lock(mutex_);
  const FreeMember* const member = members_.find(learner);
  return member ? member->iteration : whole_iterations();
}

void AsynchronousGroup::write_central(const std::byte* canonical) {
  Lock lock(mutex_);
  await_last_pushes(lock);
  if (!all_over()) throw Error("INVALID_STATE", "central model: learners are in the middle of iterations; pause the group first");
  central_.replace(canonical);
  members_.refresh();
}

int64_t AsynchronousGroup::copy_central(size_t, const Memory& vector) const {
  central_.fetch_evaluated(vector.data());
  const std::lock_guard lock(mutex_);
  return round_;
}

void AsynchronousGroup::capture(Snapshot& snapshot) const {
  Lock lock(mutex_);
  await_last_pushes(lock);
  refuse_in_progress();
  capture_progress(snapshot);
  central_.capture(snapshot);
  for (const auto& [learner, member] : members_) {
    const std::string number = std::to_string(learner);
    snapshot.count("fresh." + number, member.fresh);
    // It does not resume: it begins at the central model.
    if (member.fresh) continue;
    snapshot.count("own." + number, member.own_iterations);
    if (member.contribution) snapshot.keep("accumulated." + number, *member.contribution);
  }
}

void AsynchronousGroup::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  if (!members_.empty()) throw Error("INVALID_STATE", "group: it has members; restore it before any learner joins");
  std::map<int, FreeMember> resumable;
  for (const int learner : snapshot.numbers("own.")) {
    const std::string number = std::to_string(learner);
    FreeMember& member = resumable[learner];
    member.own_iterations = snapshot.counted("own." + number);
    if (!rule().in_place) {
      member.contribution = std::make_shared<Memory>(backend_, spec_.layout.bytes);
      snapshot.give("accumulated." + number, *member.contribution);
    }
  }
  restore_progress(snapshot);
  central_.restore(snapshot);
  opened_ = round_;
  rounds_.clear();
  resumable_.clear();
  for (auto& [learner, member] : resumable) resumable_.push_back(std::move(member));
}

void AsynchronousGroup::refuse_in_progress() const {
  if (!rounds_.empty())
    throw Error("INVALID_STATE",
                "central model: round " + std::to_string(rounds_.begin()->first) + " is in progress; pause the group first");
}

void AsynchronousGroup::change_averaging(const RuleChange& change) {
  throw Error("INVALID_OPTION", std::string(change.alpha ? "alpha" : "momentum") + ": asynchronous learners have none; leave it out");
}

bool AsynchronousGroup::all_over() const {
  return averages_under_way_ == 0 && std::ranges::none_of(rounds_, [](const auto& each) { return each.second.outstanding > 0; });
}

void AsynchronousGroup::await_last_pushes(Lock& lock) const {
  changed_.wait(lock, [this] { return last_pushes_ == 0; });
}

bool AsynchronousGroup::too_far_ahead(const FreeMember& member) const {
  if (!rule().slack) return false;
  return std::ranges::any_of(members_,
                             [&](const auto& each) { return member.bounded_iterations - each.second.bounded_iterations > *rule().slack; });
}

AsynchronousGroup::FreeRound& AsynchronousGroup::open() {
  if (!rounds_.empty() && !rounds_.rbegin()->second.exhausted()) return rounds_.rbegin()->second;
  FreeRound round;
  round.first_iteration = schedule_.first_iteration(opened_);
  round.learners = static_cast<int64_t>(members_.size());
  round.size = round.learners * schedule_.length(opened_);
  round.position = position_;
  round.next_position = position_ + static_cast<uint64_t>(round.size * spec_.batch);
  recorder_.open(opened_, round.first_iteration, {});
  return rounds_.emplace(opened_++, round).first->second;
}

Ticket AsynchronousGroup::hand_out(int learner, FreeMember& member) {
  FreeRound& round = open();
  Ticket ticket;
  ticket.round = opened_ - 1;
  ticket.iteration = round.taken_iterations();
  ticket.position = position_;
  ticket.rate = schedule_.rate(ticket.iteration);
  ticket.restarts_optimiser = member.fresh;
  if (!rule().in_place) {
    ticket.adopts = member.fresh || member.own_iterations % rule().fetch == 0;
    ticket.contributes = (member.own_iterations + 1) % rule().push == 0;
  }
  position_ += static_cast<uint64_t>(spec_.batch);
  ++round.taken;
  ++round.outstanding;
  member.fresh = false;
  member.iteration = ticket.iteration;
  member.ticket = ticket;
  if (const double waited = std::exchange(member.waited, 0); waited > 0) recorder_.add_wait(ticket.round, learner, waited);
  return ticket;
}

Outcome AsynchronousGroup::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  Lock lock(mutex_);
  while (true) {
    if (stopped_ || cancelled) return Outcome::cancelled;
    FreeMember* const member = members_.find(learner);
    if (!member) return Outcome::evicted;
    if (member->ticket) {
      // It has given up the iteration and takes it up again.
      ticket = *member->ticket;
      return Outcome::done;
    }
    const int64_t round = next_round();
    // At the end a learner pushes the updates that it has not pushed yet.
    if (schedule_.ends_before(round) && has_unpushed(*member)) {
      const std::shared_ptr<Memory> updates = member->contribution;
      member->own_iterations += rule().push - member->own_iterations % rule().push;
      push_last(lock, *updates);
      continue;
    }
    if (round == opened_ && schedule_.rests_before(round)) {
      if (all_over()) return Outcome::paused;
    } else if (!too_far_ahead(*member)) {
      ticket = hand_out(learner, *member);
      return Outcome::done;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return Outcome::waiting;
    changed_.wait_until(lock, std::min(deadline, now + kSlice));
    // A pause is no waiting for others.
    if (FreeMember* const waiting = members_.find(learner); waiting && recorder_.is_recording() && !schedule_.rests_before(round))
      waiting->waited += seconds_since(now);
  }
}

void AsynchronousGroup::begin(int, const Ticket& ticket, const LearnerVectors& vectors) {
  if (ticket.restarts_optimiser) vectors.optimiser->restart();
  if (ticket.adopts) central_.fetch(vectors.weights->data());
}

void AsynchronousGroup::update(int learner, const Ticket& ticket, const LearnerVectors& vectors) {
  OptimiserPass step;
  step.weights = vectors.weights->data();
  step.next = vectors.weights->data();
  step.gradients = vectors.gradients->data();
  step.rate = ticket.rate;
  // Held here, so that an eviction does not free it while it is written.
  std::shared_ptr<Memory> updates;
  if (!rule().in_place) {
    const std::lock_guard lock(mutex_);
    if (const FreeMember* const member = members_.find(learner)) updates = member->contribution;
  }
  if (updates) {
    if (ticket.restarts_optimiser) clear(*updates);
    step.contribution_kind = contribution_kind();
    step.contribution = updates->data();
  }
  vectors.optimiser->begin(vectors.weights->data(), vectors.gradients->data());
  vectors.optimiser->apply(step, 0, spec_.layout.length());
  if (updates && ticket.contributes) push(*updates);
}

bool AsynchronousGroup::report(int learner, int64_t iteration, double loss) {
  Lock lock(mutex_);
  FreeMember* const member = members_.find(learner);
  if (!member) return true;
  changed_.announce();
  if (!add_loss(iteration, loss)) return false;
  if (recorder_.is_recording() && member->ticket) {
    recorder_.add_loss(member->ticket->round, learner, loss);
    if (rule().in_place) recorder_.set_distance(member->ticket->round, learner, 0);
  }
  close_ticket(*member);
  member->ticket.reset();
  ++member->bounded_iterations;
  ++member->own_iterations;
  ++member->iteration;
  close_rounds(lock);
  return true;
}

void AsynchronousGroup::close_ticket(const FreeMember& member) {
  if (member.ticket) --rounds_.at(member.ticket->round).outstanding;
}

// Rounds become whole in their order. The thread that finds one whole takes it into the evaluation average first; one thread at a time.
void AsynchronousGroup::close_rounds(Lock& lock) {
  while (averages_under_way_ == 0 && !rounds_.empty() && rounds_.begin()->second.exhausted() && rounds_.begin()->second.outstanding == 0) {
    const FreeRound round = rounds_.begin()->second;
    if (central_.has_average()) {
      const UnlockedWork work(*this, lock, averages_under_way_);
      central_.take_into_average(round.position, round.next_position);
    }
    iteration_ = round.taken_iterations();
    recorder_.finish(round_);
    rounds_.erase(rounds_.begin());
    ++round_;
  }
  changed_.announce();
}

int64_t AsynchronousGroup::whole_iterations() const {
  int64_t whole = std::min(schedule_.end(), schedule_.first_iteration(opened_));
  for (const auto& [number, round] : rounds_) whole = std::min(whole, round.taken_iterations());
  for (const auto& [learner, member] : members_)
    if (member.ticket) whole = std::min(whole, member.ticket->iteration);
  return whole;
}

bool AsynchronousGroup::has_unpushed(const FreeMember& member) const {
  return member.contribution && !member.fresh && member.own_iterations % rule().push != 0;
}

void AsynchronousGroup::push_last(Lock& lock, Memory& updates) {
  const UnlockedWork work(*this, lock, last_pushes_);
  push(updates);
}

void AsynchronousGroup::push(Memory& updates) {
  central_.add(updates);
  clear(updates);
}

void AsynchronousGroup::clear(Memory& vector) {
  backend_.average({spec_.layout.type(), 0, spec_.layout.length(), nullptr, vector.data(), {}, 0, 0});
}

}  // namespace arbalest
