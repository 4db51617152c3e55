// The learners' side of a synchronous group: a member enters a round, brings its share of it, and waits for what it needs of the others.
#include <algorithm>
#include <string>

#include "core/cores.h"
#include "sync/synchronous_group.h"

namespace arbalest {
namespace {

// A waiting thread looks at its flags this often.
constexpr std::chrono::milliseconds kSlice{10};
// And polls for so long before it sleeps.
constexpr std::chrono::microseconds kPolls{100};

}  // namespace

Outcome SynchronousGroup::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  Lock lock(mutex_);
  const RoundMember* const member = members_.find(learner);
  if (!member) return Outcome::evicted;
  if (stopped_ || cancelled) return Outcome::cancelled;
  if (member->departs_before_round()) {
    remove(lock, learner);
    return Outcome::evicted;
  }
  // Waiting releases the lock: members and rounds are looked up again after it.
  if (const Outcome outcome = await_start(lock, learner, deadline, cancelled); outcome != Outcome::done) return outcome;
  const OpenRound& round = open(members_.at(learner).round);
  if (members_.at(learner).departs_within_round()) {
    remove(lock, learner);
    return Outcome::evicted;
  }
  Ticket entered = begin_ticket(members_.at(learner), round);
  if (const Outcome outcome = await_adopted_model(lock, learner, entered, deadline, cancelled); outcome != Outcome::done) return outcome;
  complete_ticket(learner, entered);
  ticket = entered;
  return Outcome::done;
}

Outcome SynchronousGroup::await_start(Lock& lock, int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (members_.at(learner).iteration_in_round != 0) return Outcome::done;
  if (agreement_) return await_agreement(lock, learner, deadline, cancelled);
  while (true) {
    const int64_t round = members_.at(learner).round;
    const bool rests = schedule_.rests_before(round);
    // Paused means that the central model is whole: it may be measured, saved or replaced. One that has just joined begins after the open
    // rounds, and does not open another beside as many as there may be.
    const int64_t needed = rests ? round : round + 1 - kMostOpen - rule().slack;
    if (const Outcome outcome = await_round(lock, learner, needed, deadline, cancelled); outcome != Outcome::done) return outcome;
    // The pause may have been set or lifted meanwhile.
    if (rests == schedule_.rests_before(round)) return rests ? Outcome::paused : Outcome::done;
  }
}

Ticket SynchronousGroup::begin_ticket(const RoundMember& member, const OpenRound& round) const {
  const bool begins = member.iteration_in_round == 0;
  Ticket ticket;
  ticket.restarts_optimiser = begins && (member.fresh || round.restarts);
  ticket.adopts = ticket.restarts_optimiser || (begins && rule().adopts);
  ticket.pulls = ticket.adopts && pulls_buckets();
  ticket.model = oldest_model(round.number);
  return ticket;
}

Outcome SynchronousGroup::await_adopted_model(Lock& lock, int learner, const Ticket& ticket, Clock::time_point deadline,
                                              const std::atomic<bool>& cancelled) {
  const bool adopts_whole = ticket.adopts && !ticket.pulls;
  const bool begins_in_lockstep = rule().lockstep && members_.at(learner).iteration_in_round == 0;
  if (!adopts_whole && !begins_in_lockstep) return Outcome::done;
  return await_round(lock, learner, ticket.model, deadline, cancelled);
}

void SynchronousGroup::complete_ticket(int learner, Ticket& ticket) {
  RoundMember& member = members_.at(learner);
  const OpenRound& round = open(member.round);
  ticket.round = member.round;
  ticket.iteration = schedule_.first_iteration(member.round) + member.iteration_in_round;
  const int64_t order = round.order_of(learner), place = agreement_ ? agreement_->place(member.round, order) : order;
  ticket.position = round.position + static_cast<uint64_t>((member.iteration_in_round * round.learners + place) * spec_.batch);
  ticket.device = member.device;
  ticket.rate = schedule_.rate(ticket.iteration);
  ticket.alpha = round.alpha;
  ticket.contributes = member.iteration_in_round == round.length - 1;
  if (rule().latest) ticket.model = std::max(ticket.model, round_);
  if (ticket.restarts_optimiser) member.first = member.round;
  member.fresh = false;
  member.length = round.length;
}

void SynchronousGroup::check_device_of(const Ticket& ticket, const LearnerVectors& vectors) const {
  if (vectors.weights->device() != &averaging_.backend(ticket.device))
    throw Error("INVALID_STATE", "learner: it meets the group on device " + std::to_string(ticket.device) +
                                     ", where its replica does not lie; create the replica with this device");
}

void SynchronousGroup::begin(int learner, const Ticket& ticket, const LearnerVectors& vectors) {
  follow();
  check_device_of(ticket, vectors);
  if (ticket.adopts) {
    if (const int64_t age = ticket.round - ticket.model; age < 0 || age > rule().slack)
      throw Error("INVALID_STATE",
                  "learner: its central model is " + std::to_string(age) + " rounds old; slack is " + std::to_string(rule().slack));
    if (!ticket.pulls) adopt(learner, ticket, {0, spec_.layout.length()}, vectors);
  }
  if (ticket.restarts_optimiser && vectors.optimiser) vectors.optimiser->restart();
}

Outcome SynchronousGroup::acquire(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors,
                                  Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (whole_rounds_.load(std::memory_order_acquire) < ticket.model) {
    Lock lock(mutex_);
    const Outcome outcome = await_model(lock, learner, ticket.model, bucket, deadline, cancelled);
    if (outcome != Outcome::done) return outcome;
  }
  adopt(learner, ticket, averaging_.buckets()[bucket], vectors);
  return Outcome::done;
}

void SynchronousGroup::adopt(int learner, const Ticket& ticket, const Bucket& range, const LearnerVectors& vectors) {
  std::vector<std::shared_ptr<Memory>> own;
  {
    const std::lock_guard lock(mutex_);
    averaging_.follow(ticket.device);
    own = own_updates(learner, ticket);
  }
  Backend& backend = averaging_.backend(ticket.device);
  // Other models are written meanwhile, and this one not before this learner has contributed to the round.
  const std::byte* const model = averaging_.central(ticket.device).weights(ticket.model);
  const auto& [begin, end] = range;
  if (own.empty()) {
    const size_t size = size_of(spec_.layout.type());
    return backend.copy(vectors.weights->data() + begin * size, model + begin * size, (end - begin) * size);
  }
  std::vector<const void*> summands;
  for (const auto& update : own) summands.push_back(update->data());
  backend.average({spec_.layout.type(), begin, end, model, vectors.weights->data(), summands, -1, 0});
}

void SynchronousGroup::offer(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors) {
  if (rule().pushes_late) return;
  if (fills_slots()) return copy_to_slot(learner, ticket, bucket, vectors);
  arrive(learner, ticket.device, ticket.round, bucket, {vectors.gradients});
}

// Once the round before has been averaged, or the one that slack allows, the learner's slot and the central model that it reads stay as
// they are until it has contributed.
Outcome SynchronousGroup::await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  const int64_t needed = ticket.round - rule().slack;
  if (!ticket.contributes || (!averaging_.has_streams() && whole_rounds_.load(std::memory_order_acquire) >= needed)) return Outcome::done;
  Lock lock(mutex_);
  const Outcome outcome = await_round(lock, learner, needed, deadline, cancelled);
  if (outcome == Outcome::done) averaging_.follow(ticket.device);
  return outcome;
}

void SynchronousGroup::update(int learner, const Ticket& ticket, const LearnerVectors& vectors) {
  const size_t elements = spec_.layout.length();
  if (takes_gradients()) {
    if (!fills_slots()) return arrive(learner, ticket, {vectors.gradients});
    for (size_t bucket = 0; bucket < averaging_.buckets().size(); ++bucket) copy_to_slot(learner, ticket, bucket, vectors);
    return;
  }
  OptimiserPass step;
  step.weights = vectors.weights->data();
  step.next = vectors.weights->data();
  step.gradients = vectors.gradients->data();
  step.rate = ticket.rate;
  // Held here, so that an eviction does not free it while it is written.
  std::shared_ptr<Memory> contribution;
  bool recorded = false;
  if (ticket.contributes) {
    const std::lock_guard lock(mutex_);
    const RoundMember* const member = members_.find(learner);
    if (member) contribution = takes_updates() ? member->slot(ticket.round) : contributes_copies() ? member->contribution : vectors.weights;
    recorded = recorder_.measures(ticket.round);
  }
  if (contribution && takes_updates()) {
    step.contribution_kind = contribution_kind();
    step.contribution = contribution->data();
    averaging_.backend(ticket.device).average({spec_.layout.type(), 0, elements, nullptr, contribution->data(), {}, 0, 0});
  } else if (contribution && contributes_copies()) {
    step.contribution_kind = contribution_kind();
    step.central = averaging_.central(ticket.device).weights(ticket.round);
    step.contribution = contribution->data();
    step.alpha = ticket.alpha;
    if (const OptimiserSpec& spec = vectors.optimiser->spec(); spec.nesterov) step.ahead = ticket.rate * spec.momentum;
  }
  vectors.optimiser->begin(vectors.weights->data(), vectors.gradients->data());
  if (contribution && rule().lockstep)
    return arrive(learner, ticket, {contribution, std::make_shared<const DueStep>(DueStep{vectors, step})});
  vectors.optimiser->apply(step, 0, elements);
  if (recorded) record_distance(learner, ticket, *vectors.weights);
  if (contribution) arrive(learner, ticket, {contribution});
}

void SynchronousGroup::follow() const {
  // Under other rules the learner's own stream alone writes there.
  if (!rule().lockstep) return;
  const std::lock_guard lock(mutex_);
  averaging_.follow(0);
}

// In lockstep a learner's last step is due until all learners have arrived. The learner takes the step at once, by itself, and brings the
// correction; where all have arrived, the step is being taken already.
void SynchronousGroup::finish_due_step(int learner) {
  if (!rule().lockstep) return;
  Lock lock(mutex_);
  if (!members_.has(learner)) return;
  if (const auto withdrawn = rounds_.withdraw(learner)) {
    lock.unlock();
    const DueStep& due = *withdrawn->due;
    due.learner.optimiser->apply(due.pass, 0, spec_.layout.length());
    Ticket ticket;
    ticket.round = ticket.model = withdrawn->round;
    record_distance(learner, ticket, *due.learner.weights);
    return arrive(learner, 0, withdrawn->round, 0, {withdrawn->vector});
  }
  while (rounds_.is_stepping_for(learner)) {
    if (const std::exception_ptr failure = averaging_.failure()) std::rethrow_exception(failure);
    help(lock);
    if (rounds_.is_stepping_for(learner)) changed_.wait_until(lock, Clock::now() + kSlice);
  }
  averaging_.follow(0);
}

bool SynchronousGroup::report(int learner, int64_t iteration, double loss) {
  Lock lock(mutex_);
  RoundMember* const member = members_.find(learner);
  if (!member) return true;
  const bool departed = member->has_departed();
  if (!departed && !add_loss(iteration, loss)) {
    give_up_learners();
    help(lock);
    return false;
  }
  if (!departed) recorder_.add_loss(member->round, learner, loss);
  member->iteration = iteration + 1;
  if (++member->iteration_in_round >= member->length) {
    recorder_.leave(member->round, learner);
    ++member->round;
    member->iteration_in_round = 0;
    go_on();
  }
  return true;
}

Outcome SynchronousGroup::await_round(Lock& lock, int learner, int64_t round, Clock::time_point deadline,
                                      const std::atomic<bool>& cancelled) {
  return await_model(lock, learner, round, std::nullopt, deadline, cancelled);
}

Outcome SynchronousGroup::await_model(Lock& lock, int learner, int64_t round, std::optional<size_t> bucket, Clock::time_point deadline,
                                      const std::atomic<bool>& cancelled) {
  if (has_model(round, bucket) || !recorder_.is_recording()) return wait_for_model(lock, learner, round, bucket, deadline, cancelled);
  const Clock::time_point from = Clock::now();
  const Outcome outcome = wait_for_model(lock, learner, round, bucket, deadline, cancelled);
  if (const RoundMember* const member = members_.find(learner)) recorder_.add_wait(member->round, learner, seconds_since(from));
  return outcome;
}

Outcome SynchronousGroup::wait_for_model(Lock& lock, int learner, int64_t round, std::optional<size_t> bucket, Clock::time_point deadline,
                                         const std::atomic<bool>& cancelled) {
  // With more members than processors, polling would keep the awaited member from running.
  const bool may_poll = members_.size() <= cores_of_machine();
  const auto polls_until = [&] { return may_poll ? Clock::now() + kPolls : Clock::time_point::min(); };
  Clock::time_point sleeps = polls_until();
  while (true) {
    if (const std::exception_ptr failure = averaging_.failure()) std::rethrow_exception(failure);
    if (stopped_ || cancelled) return Outcome::cancelled;
    if (!members_.has(learner)) return Outcome::evicted;
    if (has_model(round, bucket)) return Outcome::done;
    if (averaging_.next_pass()) {
      help(lock);
      // Others end their last pieces at about the same time.
      sleeps = polls_until();
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return Outcome::waiting;
    if (now < sleeps)
      changed_.poll_until(lock, std::min(deadline, sleeps));
    else
      changed_.wait_until(lock, std::min(deadline, now + kSlice));
  }
}

void SynchronousGroup::arrive(int learner, size_t device, int64_t round, size_t bucket, Contribution contribution) {
  contribution.ready = averaging_.backend(device).mark();
  Lock lock(mutex_);
  if (!members_.has(learner)) {
    // It has been evicted, and its slot may be freed with this call: work that is queued on it must be done first.
    lock.unlock();
    return averaging_.backend(device).synchronise();
  }
  if (!members_.at(learner).withholds(bucket)) rounds_.arrive(learner, device, round, bucket, contribution);
  advance();
  help(lock);
}

void SynchronousGroup::arrive(int learner, const Ticket& ticket, const Contribution& contribution) {
  for (size_t bucket = 0; bucket < averaging_.buckets().size(); ++bucket)
    arrive(learner, ticket.device, ticket.round, bucket, contribution);
}

}  // namespace arbalest
