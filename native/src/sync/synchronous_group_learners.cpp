// The learners' side of a synchronous group: a member enters a round, brings its share of it, and waits for what it needs of the others.
#include <algorithm>
#include <string>
#include <thread>

#include "sync/synchronous_group.h"

namespace arbalest {
namespace {

// A waiting thread looks at its flags this often.
constexpr std::chrono::milliseconds kSlice{10};
// And polls for so long before it sleeps.
constexpr std::chrono::microseconds kPolls{100};

}  // namespace

OpenRound& SynchronousGroup::open(int64_t number) {
  if (OpenRound* const found = rounds_.find(number)) return *found;
  // Over hosts a learner may join later than at the next round, and enter before the others have opened those in between.
  while (unopened_round() < number) open(unopened_round());
  OpenRound round;
  round.number = number;
  round.length = schedule_.length(number);
  round.position = position_;
  round.restarts = schedule_.restarts(number);
  const auto members = members_in(number);
  for (const auto& [learner, member] : members) {
    round.members.push_back(learner);
    round.devices.push_back(member->device);
  }
  round.learners = agreement_ ? agreement_->learners(number) : static_cast<int64_t>(round.members.size());
  round.alpha = alpha_.value_or(std::min(1.0 / static_cast<double>(std::max<int64_t>(round.learners, 1)), 0.5));
  position_ += static_cast<uint64_t>(round.learners * round.length * spec_.batch);
  round.next_position = position_;
  OpenRound& opened = rounds_.open(std::move(round), averaging_.buckets().size(), averaging_.devices());
  for (const auto& [learner, member] : counted_) rounds_.evict(learner);
  averaging_.set_present(number, opened.present);
  recorder_.open(number, schedule_.first_iteration(number), opened.members);
  for (const auto& [learner, member] : counted_) recorder_.evict(learner);
  std::erase_if(counted_, [&](const auto& left) { return left.second.departs->until <= number + 1; });
  return opened;
}

std::vector<std::pair<int, const RoundMember*>> SynchronousGroup::members_in(int64_t round) const {
  std::vector<std::pair<int, const RoundMember*>> found;
  if (agreement_ && stopped_) return found;
  for (const auto& [learner, member] : members_)
    if (member.round <= round && (!member.departs || round < member.departs->until)) found.emplace_back(learner, &member);
  for (const auto& [learner, member] : counted_)
    if (round < member.departs->until) found.emplace_back(learner, &member);
  std::ranges::sort(found, {}, [](const auto& each) { return each.second->joined; });
  return found;
}

Outcome SynchronousGroup::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  Lock lock(mutex_);
  const RoundMember* const found = members_.find(learner);
  if (!found) return Outcome::evicted;
  const RoundMember& member = *found;
  if (stopped_ || cancelled) return Outcome::cancelled;
  if (member.departs_before_round()) {
    remove(lock, learner);
    return Outcome::evicted;
  }
  if (agreement_ && member.iteration_in_round == 0) {
    const Outcome outcome = await_agreement(lock, learner, member.round, deadline, cancelled);
    if (outcome != Outcome::done) return outcome;
  } else if (member.iteration_in_round == 0 && schedule_.rests_before(member.round)) {
    // Paused means that the central model is whole: it may be measured, saved or replaced.
    const Outcome outcome = await_round(lock, learner, member.round, deadline, cancelled);
    return outcome == Outcome::done ? Outcome::paused : outcome;
  } else if (member.iteration_in_round == 0) {
    // One that has just joined begins after the open rounds, and does not open another beside as many as there may be.
    const Outcome outcome = await_round(lock, learner, member.round + 1 - kMostOpen - rule().slack, deadline, cancelled);
    if (outcome != Outcome::done) return outcome;
  }
  const int64_t number = members_.at(learner).round;
  const OpenRound& round = open(number);
  if (members_.at(learner).departs_within_round()) {
    remove(lock, learner);
    return Outcome::evicted;
  }
  const bool begins = members_.at(learner).iteration_in_round == 0;
  const bool restarts_optimiser = begins && (members_.at(learner).fresh || round.restarts);
  const bool adopts = restarts_optimiser || (begins && rule().adopts);
  const bool pulls = adopts && pulls_buckets();
  // The same before and after the wait: a restart that is planned meanwhile is not one of this round, which is open.
  const int64_t oldest = oldest_model(number);
  if ((adopts && !pulls) || (rule().lockstep && begins)) {
    const Outcome outcome = await_round(lock, learner, oldest, deadline, cancelled);
    if (outcome != Outcome::done) return outcome;
  }
  // While the lock was released, `round` may have become a dangling reference: look it up again.
  RoundMember& self = members_.at(learner);
  const OpenRound& entered = open(self.round);
  ticket.round = self.round;
  ticket.iteration = schedule_.first_iteration(self.round) + self.iteration_in_round;
  const int64_t order = entered.order_of(learner), place = agreement_ ? agreement_->place(self.round, order) : order;
  ticket.position = entered.position + static_cast<uint64_t>((self.iteration_in_round * entered.learners + place) * spec_.batch);
  ticket.device = self.device;
  ticket.rate = schedule_.rate(ticket.iteration);
  ticket.alpha = entered.alpha;
  ticket.contributes = self.iteration_in_round == entered.length - 1;
  ticket.adopts = adopts;
  ticket.pulls = pulls;
  ticket.restarts_optimiser = restarts_optimiser;
  ticket.model = oldest;
  if (rule().latest) ticket.model = std::max(ticket.model, round_);
  if (restarts_optimiser) self.first = self.round;
  self.fresh = false;
  self.length = entered.length;
  return Outcome::done;
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
  if (const RoundMember* const member = members_.find(learner))
    recorder_.add_wait(member->round, learner, std::chrono::duration<double>(Clock::now() - from).count());
  return outcome;
}

Outcome SynchronousGroup::wait_for_model(Lock& lock, int learner, int64_t round, std::optional<size_t> bucket, Clock::time_point deadline,
                                         const std::atomic<bool>& cancelled) {
  // With more members than processors, polling would keep the awaited member from running.
  const bool may_poll = members_.size() <= std::thread::hardware_concurrency();
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

void SynchronousGroup::begin_round(OpenRound& round) {
  round.begun = true;
  const int64_t first = schedule_.first_iteration(round.number);
  averaging_.begin({round.number, first, round.position, round.next_position, schedule_.rate(first + round.length - 1), round.restarts},
                   round.present.size());
}

// An error ends the group, not the caller alone: the other learners would wait for a sum of this round that never comes.
void SynchronousGroup::advance() {
  try {
    take_complete_gatherings();
  } catch (...) {
    fail(std::current_exception());
  }
}

void SynchronousGroup::take_complete_gatherings() {
  if (rounds_.empty()) return;
  OpenRound& round = rounds_.front();
  // Over hosts there are rounds without learners of this process.
  if (!round.begun && round.present.empty()) begin_round(round);
  for (size_t bucket = 0; bucket < round.buckets.size(); ++bucket)
    for (size_t device = 0; device < averaging_.devices(); ++device) {
      Gathering& gathering = round.buckets[bucket][device];
      if (gathering.complete || !gathering.pending.empty()) continue;
      gathering.complete = true;
      if (!round.begun) begin_round(round);
      averaging_.take_contributions(bucket, device, gathering.contributions(round.members));
      changed_.announce();
    }
}

void SynchronousGroup::finish_round() {
  iteration_ = schedule_.first_iteration(round_) + rounds_.front().length;
  if (recorder_.measures(round_)) record_distances(rounds_.front());
  recorder_.finish(round_, averaging_.take_pass_seconds());
  rounds_.close_front();
  whole_rounds_.store(++round_, std::memory_order_release);
  advance();  // where the next round's members are all gone
  go_on();
  changed_.announce();
}

void SynchronousGroup::help(Lock& lock) {
  try {
    while (const auto pass = averaging_.next_pass()) {
      lock.unlock();
      const bool last = averaging_.work_on(*pass);
      lock.lock();
      if (!last) continue;
      if (averaging_.finish(*pass))
        finish_round();
      else
        changed_.announce();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    fail(std::current_exception());
  }
}

void SynchronousGroup::record_distance(int learner, const Ticket& ticket, const Memory& weights) {
  std::shared_ptr<Memory> difference;
  {
    const std::lock_guard lock(mutex_);
    const RoundMember* const member = members_.find(learner);
    if (!member || !member->difference || !recorder_.measures(ticket.round)) return;
    difference = member->difference;
  }
  const Clock::time_point from = Clock::now();
  const double distance = averaging_.distance(ticket.device, ticket.model, weights, *difference);
  const std::lock_guard lock(mutex_);
  recorder_.add_cost(seconds_since(from));
  recorder_.set_distance(ticket.round, learner, distance);
}

void SynchronousGroup::record_distances(const OpenRound& round) {
  if (takes_gradients())
    for (int learner : round.members) recorder_.set_distance(round.number, learner, 0);
  if (!rule().lockstep) return;
  const UsedStream used = averaging_.use_stream(0);
  const Clock::time_point from = Clock::now();
  for (const auto& [learner, contribution] : round.buckets.front().front().arrived) {
    const RoundMember* const member = members_.find(learner);
    if (!member || !member->difference || !contribution.due) continue;
    recorder_.set_distance(round.number, learner,
                           averaging_.distance(0, round.number, *contribution.due->learner.weights, *member->difference));
  }
  recorder_.add_cost(seconds_since(from));
}

void SynchronousGroup::take_sum(const BucketReduction& reduction) {
  Lock lock(mutex_);
  averaging_.take_sum(reduction);
  changed_.announce();
  help(lock);
}

void SynchronousGroup::fail(std::exception_ptr failure) {
  averaging_.fail(std::move(failure));
  changed_.announce();
}

}  // namespace arbalest
