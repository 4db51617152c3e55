// The learners' side of a synchronous group: a member enters a round, brings its share of it, and waits for what it needs of the others.
#include <algorithm>
#include <cmath>
#include <thread>

#include "sync/synchronous_group.h"

namespace arbalest {
namespace {

// A waiting thread looks at its flags this often.
constexpr std::chrono::milliseconds kSlice{10};
// Polls before a waiting thread sleeps; waking it again costs tens of microseconds.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Fixes who takes part in the round and which samples it takes.
Round& SynchronousGroup::open(int64_t number) {
  if (Round* const found = rounds_.find(number)) return *found;
  Round round;
  round.number = number;
  round.length = course_.length(number);
  round.position = position_;
  round.restarts = course_.restarts(number);
  round.members = members_.of_round(number);
  round.alpha = rule().alpha.value_or(std::min(1.0 / static_cast<double>(round.members.size()), 0.5));
  position_ += static_cast<uint64_t>(static_cast<int64_t>(round.members.size()) * round.length * spec_.batch);
  round.next_position = position_;
  Round& opened = rounds_.open(std::move(round), members_, averaging_.buckets().size(), averaging_.devices());
  averaging_.set_present(number, opened.present);
  return opened;
}

Entry SynchronousGroup::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  std::unique_lock lock(mutex_);
  const Member* const found = members_.find(learner);
  if (!found) return Entry::evicted;
  const Member& member = *found;
  if (stopped_ || cancelled) return Entry::cancelled;
  if (member.is_gone()) return Entry::evicted;
  if (member.step == 0 && course_.rests_before(member.round)) {
    // Paused means that the central model is whole: it may be measured, saved or replaced.
    const Entry entry = await_round(lock, learner, member.round, deadline, cancelled);
    return entry == Entry::granted ? Entry::paused : entry;
  }
  const Round& round = open(member.round);
  const bool forgets = member.step == 0 && (member.fresh || round.restarts);
  const bool adopts = forgets || (member.step == 0 && rule().adopts);
  if (adopts || (rule().lockstep && member.step == 0)) {
    const Entry entry = await_round(lock, learner, member.round, deadline, cancelled);
    if (entry != Entry::granted) return entry;
  }
  // `member` and `round` may have moved on while the lock was away, but not this learner's own.
  Member& self = members_.at(learner);
  const Round& entered = open(self.round);
  ticket.round = self.round;
  ticket.iteration = course_.first_iteration(self.round) + self.step;
  ticket.position = entered.position +
                    static_cast<uint64_t>((self.step * static_cast<int64_t>(entered.members.size()) + entered.rank(learner)) * spec_.batch);
  ticket.device = self.device;
  ticket.rate = course_.rate(ticket.iteration);
  ticket.alpha = entered.alpha;
  ticket.contributes = self.step == entered.length - 1;
  ticket.adopts = adopts;
  ticket.forgets = forgets;
  self.fresh = false;
  self.length = entered.length;
  return Entry::granted;
}

void SynchronousGroup::check_place(const Ticket& ticket, const LearnerVectors& vectors) const {
  if (vectors.weights->backend() != &averaging_.backend(ticket.device))
    throw Error("INVALID_STATE", "learner: it meets the group on device " + std::to_string(ticket.device) +
                                     ", where its replica does not lie; create the replica with this device");
}

void SynchronousGroup::begin(const Ticket& ticket, const LearnerVectors& vectors) {
  follow();
  check_place(ticket, vectors);
  if (ticket.adopts) {
    {
      const std::lock_guard lock(mutex_);
      averaging_.follow(ticket.device);
    }
    // Nobody writes there before this learner has brought its share of the round.
    averaging_.backend(ticket.device)
        .copy(vectors.weights->data(), averaging_.central(ticket.device).weights(ticket.round), spec_.layout.bytes);
  }
  if (ticket.forgets && vectors.optimiser) vectors.optimiser->restart();
}

void SynchronousGroup::offer(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors) {
  arrive(learner, ticket.device, ticket.round, bucket, {vectors.gradients});
}

// A slot is the learner's own once the round before has been averaged, and so is the central model that it reads.
Entry SynchronousGroup::await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (!ticket.contributes || (!averaging_.has_streams() && whole_rounds_.load(std::memory_order_acquire) >= ticket.round))
    return Entry::granted;
  std::unique_lock lock(mutex_);
  const Entry entry = await_round(lock, learner, ticket.round, deadline, cancelled);
  if (entry == Entry::granted) averaging_.follow(ticket.device);
  return entry;
}

void SynchronousGroup::update(int learner, const Ticket& ticket, const LearnerVectors& vectors) {
  const size_t elements = spec_.layout.length();
  if (takes_gradients()) return arrive(learner, ticket, {vectors.gradients});
  OptimiserPass step;
  step.weights = vectors.weights->data();
  step.next = vectors.weights->data();
  step.gradients = vectors.gradients->data();
  step.rate = ticket.rate;
  // Held here, so that eviction cannot take it away under the writer.
  std::shared_ptr<Memory> contribution;
  if (ticket.contributes) {
    const std::lock_guard lock(mutex_);
    const Member* const member = members_.find(learner);
    if (member) contribution = takes_copies() ? member->slot : vectors.weights;
  }
  if (contribution && takes_copies()) {
    step.meeting = rule().central == CentralRule::sma ? OptimiserPass::Meeting::correction : OptimiserPass::Meeting::snapshot;
    step.central = averaging_.central(ticket.device).weights(ticket.round);
    step.contribution = contribution->data();
    step.alpha = ticket.alpha;
    if (const OptimiserSpec& spec = vectors.optimiser->spec(); spec.nesterov) step.ahead = ticket.rate * spec.momentum;
  }
  vectors.optimiser->begin(vectors.weights->data(), vectors.gradients->data());
  if (contribution && rule().lockstep)
    return arrive(learner, ticket, {contribution, std::make_shared<const DueStep>(DueStep{vectors, step})});
  vectors.optimiser->apply(step, 0, elements);
  if (contribution) arrive(learner, ticket, {contribution});
}

void SynchronousGroup::follow() const {
  // Elsewhere nobody but the learner's own stream writes there.
  if (!rule().lockstep) return;
  const std::lock_guard lock(mutex_);
  averaging_.follow(0);
}

// In lockstep a learner's last step is due until all have come. It is taken at once, by the learner alone, which brings what comes of it;
// where all have come it is being taken already.
void SynchronousGroup::settle(int learner) {
  if (!rule().lockstep) return;
  std::unique_lock lock(mutex_);
  if (!members_.has(learner)) return;
  if (const auto withdrawn = rounds_.withdraw(learner)) {
    lock.unlock();
    const DueStep& due = *withdrawn->due;
    due.learner.optimiser->apply(due.pass, 0, spec_.layout.length());
    return arrive(learner, 0, withdrawn->round, 0, {withdrawn->vector});
  }
  while (rounds_.takes_from(learner)) {
    if (const std::exception_ptr failure = averaging_.failure()) std::rethrow_exception(failure);
    averaging_.help(lock);
    if (rounds_.takes_from(learner)) changed_.wait_for(lock, kSlice);
  }
  averaging_.follow(0);
}

bool SynchronousGroup::report(int learner, int64_t iteration, double loss) {
  const std::lock_guard lock(mutex_);
  Member* const member = members_.find(learner);
  if (!member) return true;
  if (!std::isfinite(loss)) {
    if (not_finite_at_ < 0 || iteration < not_finite_at_) not_finite_at_ = iteration;
    stopped_ = true;
    changed_.notify_all();
    return false;
  }
  losses_.add(iteration, loss);
  member->iterations = iteration + 1;
  if (++member->step >= member->length) {
    ++member->round;
    member->step = 0;
  }
  return true;
}

Entry SynchronousGroup::await_round(std::unique_lock<std::mutex>& lock, int learner, int64_t round, Clock::time_point deadline,
                                    const std::atomic<bool>& cancelled) {
  // Spinning with more members than processors would keep the one that is waited for from running.
  bool may_spin = members_.size() <= std::thread::hardware_concurrency();
  while (true) {
    if (const std::exception_ptr failure = averaging_.failure()) std::rethrow_exception(failure);
    if (stopped_ || cancelled) return Entry::cancelled;
    if (!members_.has(learner)) return Entry::evicted;
    if (round_ >= round) return Entry::granted;
    if (averaging_.has_pieces()) {
      averaging_.help(lock);
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return Entry::waiting;
    if (may_spin) {
      may_spin = false;
      lock.unlock();
      for (int i = 0; i < kSpins && whole_rounds_.load(std::memory_order_acquire) < round; ++i) relax();
      lock.lock();
      continue;
    }
    changed_.wait_until(lock, std::min(deadline, now + kSlice));
  }
}

void SynchronousGroup::arrive(int learner, size_t device, int64_t round, size_t bucket, Contribution contribution) {
  contribution.ready = averaging_.backend(device).record();
  std::unique_lock lock(mutex_);
  if (!members_.has(learner)) {
    // It was evicted meanwhile, and its slot may end with this call: what is queued on it must be done.
    lock.unlock();
    return averaging_.backend(device).synchronise();
  }
  rounds_.arrive(learner, device, round, bucket, contribution);
  advance();
  averaging_.help(lock);
}

void SynchronousGroup::arrive(int learner, const Ticket& ticket, const Contribution& contribution) {
  for (size_t bucket = 0; bucket < averaging_.buckets().size(); ++bucket)
    arrive(learner, ticket.device, ticket.round, bucket, contribution);
}

void SynchronousGroup::begin_round(Round& round) {
  round.begun = true;
  const int64_t first = course_.first_iteration(round.number);
  averaging_.begin({round.number, first, round.position, round.next_position, course_.rate(first + round.length - 1), round.restarts},
                   round.present.size());
}

void SynchronousGroup::advance() {
  if (rounds_.empty()) return;
  Round& round = rounds_.front();
  for (size_t bucket = 0; bucket < round.buckets.size(); ++bucket)
    for (size_t device = 0; device < averaging_.devices(); ++device) {
      Gathering& gathering = round.buckets[bucket][device];
      if (gathering.complete || !gathering.pending.empty()) continue;
      gathering.complete = true;
      if (!round.begun) begin_round(round);
      averaging_.meet(bucket, device, gathering.contributions());
    }
}

void SynchronousGroup::finish_round() {
  iteration_ = course_.first_iteration(round_) + rounds_.front().length;
  rounds_.close_front();
  whole_rounds_.store(++round_, std::memory_order_release);
  advance();  // where the next round's members are all gone
  changed_.notify_all();
}

}  // namespace arbalest
