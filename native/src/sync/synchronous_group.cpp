#include "synchronous_group.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "buckets.h"

namespace arbalest {
namespace {

// A waiting thread looks at its flags this often.
constexpr std::chrono::milliseconds kSlice{10};
// Polls before a waiting thread sleeps; waking it again costs tens of microseconds.
constexpr int kSpins = 2000;
// Small enough that the levels work on several at once, large enough that handing it on costs little beside its bandwidth.
constexpr size_t kLevelBucket = size_t{4} << 20;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

std::vector<Bucket> buckets_for(const GroupSpec& spec) {
  if (spec.layout.bytes == 0) throw Error("INVALID_MODEL", "parameters: received none; a group needs a model with something to train");
  if (spec.synchronous->central == CentralRule::optimiser) return buckets_of(spec.layout);
  const size_t elements = spec.layout.bytes / size_of(spec.layout.type());
  return spec.levels.empty() ? std::vector<Bucket>{{0, elements}} : buckets_of(elements, kLevelBucket / size_of(spec.layout.type()));
}

}  // namespace

SynchronousGroup::SynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical)
    : backend_(backend),
      spec_(std::move(spec)),
      averaging_(backend_, spec_, buckets_for(spec_), initial_canonical, mutex_, changed_, [this] { finish_round(); }) {}

int64_t SynchronousGroup::join(int learner, bool resumed, int device) {
  if (device < 0 || device >= spec_.devices)
    throw Error("INVALID_OPTION", "device: received " + std::to_string(device) + "; the group has " + std::to_string(spec_.devices) +
                                      ": give a number from 0 to below that");
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found != members_.end()) {
    if (found->second.until == kNever || found->second.round < found->second.until)
      throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is already a member of the group; let it leave first");
    members_.erase(found);
  }
  Member member;
  member.round = last_opened() + 1;
  member.iterations = first_iteration(member.round);
  member.fresh = !resumed;
  member.device = static_cast<size_t>(device);
  if (takes_copies()) member.slot = std::make_shared<Memory>(backend_, spec_.layout.bytes);
  const int64_t from = member.round;
  members_.emplace(learner, std::move(member));
  return from;
}

int64_t SynchronousGroup::leave(int learner) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end())
    throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is not a member of the group; it cannot leave");
  found->second.until = last_opened() + 1;
  changed_.notify_all();
  return found->second.until;
}

void SynchronousGroup::evict(int learner) {
  std::unique_lock lock(mutex_);
  departed_iterations_ = whole_iterations();
  members_.erase(learner);
  for (Round& round : open_)
    for (std::vector<Gathering>& devices : round.buckets)
      for (Gathering& gathering : devices) gathering.pending.erase(learner);
  advance();
  changed_.notify_all();
  averaging_.help(lock);
}

void SynchronousGroup::set_rates(int64_t from_iteration, std::span<const float> rates) {
  const std::lock_guard lock(mutex_);
  rates_.set(from_iteration, rates);
}

void SynchronousGroup::set_restarts(std::vector<int64_t> rounds) {
  const std::lock_guard lock(mutex_);
  restarts_ = {rounds.begin(), rounds.end()};
}

void SynchronousGroup::set_pause(int64_t round) {
  const std::lock_guard lock(mutex_);
  // A round that somebody has entered is finished by all: whoever stopped before it would hold up the others.
  pause_ = round == kNever ? kNever : std::max(round, last_opened() + 1);
  changed_.notify_all();
}

void SynchronousGroup::set_end(int64_t iterations) {
  const std::lock_guard lock(mutex_);
  end_ = iterations;
}

void SynchronousGroup::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

GroupStatus SynchronousGroup::status() const {
  const std::lock_guard lock(mutex_);
  GroupStatus status{round_, whole_iterations(), position_, {}, {}, not_finite_at_};
  for (const auto& [id, member] : members_)
    if (member.round < member.until) status.members.push_back(id);
  if (!open_.empty())
    for (const Gathering& gathering : open_.front().buckets.back())
      for (const auto& [learner, contribution] : gathering.arrived) status.arrived.push_back(learner);
  std::ranges::sort(status.arrived);
  return status;
}

std::vector<float> SynchronousGroup::losses(int64_t from_iteration) const {
  const std::lock_guard lock(mutex_);
  return losses_.between(from_iteration, whole_iterations());
}

void SynchronousGroup::read_central(std::byte* canonical) const {
  Memory copy(backend_, spec_.layout.bytes);
  copy_central(copy.data());
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

void SynchronousGroup::read_device_central(int device, std::byte* canonical) const {
  if (device < 0 || device >= spec_.devices)
    throw Error("INVALID_OPTION", "device: received " + std::to_string(device) + "; the group has " + std::to_string(spec_.devices) +
                                      ": give a number from 0 to below that");
  Memory copy(backend_, spec_.layout.bytes);
  {
    const std::lock_guard lock(mutex_);
    averaging_.follow();
    backend_.copy(copy.data(), averaging_.central(static_cast<size_t>(device)).weights(round_), spec_.layout.bytes);
    backend_.synchronise();
  }
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

void SynchronousGroup::refuse_in_progress() const {
  if (!open_.empty())
    throw Error("INVALID_STATE", "central model: round " + std::to_string(open_.front().number) + " is in progress; pause the group first");
}

void SynchronousGroup::capture(Snapshot& snapshot) const {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  averaging_.follow();
  snapshot.count("round", round_);
  snapshot.count("position", static_cast<int64_t>(position_));
  for (const auto& [id, member] : members_)
    if (member.round < member.until) snapshot.count("fresh." + std::to_string(id), member.fresh);
  averaging_.central().capture(round_, snapshot);
}

void SynchronousGroup::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  if (!members_.empty()) throw Error("INVALID_STATE", "group: it has members; restore it before anybody joins");
  averaging_.follow();
  snapshot.check_place();
  round_ = snapshot.counted("round");
  position_ = static_cast<uint64_t>(snapshot.counted("position"));
  departed_iterations_ = first_iteration(round_);
  whole_rounds_.store(round_, std::memory_order_release);
  averaging_.restore(round_, snapshot);
}

void SynchronousGroup::write_central(const std::byte* canonical) {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  averaging_.follow();
  averaging_.restart(canonical);
  for (auto& [id, member] : members_) member.fresh = true;
}

int64_t SynchronousGroup::copy_central(std::byte* vector) const {
  const std::lock_guard lock(mutex_);
  averaging_.follow();
  backend_.copy(vector, averaging_.central().evaluated(round_), spec_.layout.bytes);
  backend_.synchronise();
  return round_;
}

int64_t SynchronousGroup::first_iteration(int64_t round) const {
  return round <= rule().from ? round : rule().from + (round - rule().from) * rule().period;
}

// Fixes who takes part in the round and which samples it takes.
SynchronousGroup::Round& SynchronousGroup::open(int64_t number) {
  for (Round& round : open_)
    if (round.number == number) return round;
  Round round;
  round.number = number;
  const int64_t first = first_iteration(number);
  round.length = std::min(first_iteration(number + 1), end_) - first;
  round.position = position_;
  round.restarts = restarts_.count(number) != 0;
  for (const auto& [id, member] : members_)
    if (member.round <= number && number < member.until) round.members.push_back(id);
  std::vector<Gathering> devices(averaging_.devices());
  for (int id : round.members) devices[members_.at(id).device].pending.insert(id);
  for (size_t device = 0; device < devices.size(); ++device) {
    devices[device].complete = devices[device].pending.empty();
    if (!devices[device].complete) round.present.push_back(static_cast<int>(device));
  }
  round.buckets.assign(averaging_.buckets().size(), devices);
  averaging_.set_present(number, round.present);
  round.alpha = rule().alpha.value_or(std::min(1.0 / static_cast<double>(round.members.size()), 0.5));
  position_ += static_cast<uint64_t>(static_cast<int64_t>(round.members.size()) * round.length * spec_.batch);
  round.next_position = position_;
  open_.push_back(std::move(round));
  return open_.back();
}

Entry SynchronousGroup::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  std::unique_lock lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end()) return Entry::evicted;
  Member& member = found->second;
  if (stopped_ || cancelled) return Entry::cancelled;
  if (member.round >= member.until) return Entry::evicted;
  if (member.step == 0 && (member.round >= pause_ || first_iteration(member.round) >= end_)) {
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
  const auto rank = std::find(entered.members.begin(), entered.members.end(), learner) - entered.members.begin();
  ticket.round = self.round;
  ticket.iteration = iteration_of(self);
  ticket.position =
      entered.position + static_cast<uint64_t>((self.step * static_cast<int64_t>(entered.members.size()) + rank) * spec_.batch);
  ticket.device = self.device;
  ticket.rate = rates_.at(ticket.iteration);
  ticket.alpha = entered.alpha;
  ticket.contributes = self.step == entered.length - 1;
  ticket.adopts = adopts;
  ticket.forgets = forgets;
  self.fresh = false;
  self.length = entered.length;
  return Entry::granted;
}

void SynchronousGroup::begin(const Ticket& ticket, const LearnerVectors& vectors) {
  follow();
  if (ticket.adopts) {
    const std::lock_guard lock(mutex_);
    averaging_.follow();
    backend_.copy(vectors.weights->data(), averaging_.central(ticket.device).weights(ticket.round), spec_.layout.bytes);
  }
  if (ticket.forgets && vectors.optimiser) vectors.optimiser->restart();
}

void SynchronousGroup::offer(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors) {
  arrive(learner, ticket.round, bucket, {vectors.gradients});
}

// A slot is the learner's own once the round before has been averaged, and so is the central model that it reads.
Entry SynchronousGroup::await(int learner, const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (!ticket.contributes || (!averaging_.has_stream() && whole_rounds_.load(std::memory_order_acquire) >= ticket.round))
    return Entry::granted;
  std::unique_lock lock(mutex_);
  const Entry entry = await_round(lock, learner, ticket.round, deadline, cancelled);
  if (entry == Entry::granted) averaging_.follow();
  return entry;
}

void SynchronousGroup::update(int learner, const Ticket& ticket, const LearnerVectors& vectors) {
  const size_t elements = spec_.layout.bytes / size_of(spec_.layout.type());
  if (takes_gradients()) return arrive(learner, ticket.round, {vectors.gradients});
  OptimiserPass step;
  step.weights = vectors.weights->data();
  step.next = vectors.weights->data();
  step.gradients = vectors.gradients->data();
  step.rate = ticket.rate;
  // Held here, so that eviction cannot take it away under the writer.
  std::shared_ptr<Memory> contribution;
  if (ticket.contributes) {
    const std::lock_guard lock(mutex_);
    const auto member = members_.find(learner);
    if (member != members_.end()) contribution = takes_copies() ? member->second.slot : vectors.weights;
  }
  if (contribution && takes_copies()) {
    step.meeting = rule().central == CentralRule::sma ? OptimiserPass::Meeting::correction : OptimiserPass::Meeting::snapshot;
    step.central = averaging_.central(ticket.device).weights(ticket.round);
    step.contribution = contribution->data();
    step.alpha = ticket.alpha;
  }
  vectors.optimiser->begin(vectors.weights->data(), vectors.gradients->data());
  if (contribution && rule().lockstep)
    return arrive(learner, ticket.round, {contribution, std::make_shared<const DueStep>(DueStep{vectors, step})});
  vectors.optimiser->apply(step, 0, elements);
  if (contribution) arrive(learner, ticket.round, {contribution});
}

void SynchronousGroup::follow() const {
  // Elsewhere nobody but the learner's own stream writes there.
  if (!rule().lockstep) return;
  const std::lock_guard lock(mutex_);
  averaging_.follow();
}

bool SynchronousGroup::report(int learner, int64_t iteration, double loss) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end()) return true;
  if (!std::isfinite(loss)) {
    if (not_finite_at_ < 0 || iteration < not_finite_at_) not_finite_at_ = iteration;
    stopped_ = true;
    changed_.notify_all();
    return false;
  }
  losses_.add(iteration, loss);
  Member& member = found->second;
  member.iterations = iteration + 1;
  if (++member.step >= member.length) {
    ++member.round;
    member.step = 0;
  }
  return true;
}

int64_t SynchronousGroup::whole_iterations() const {
  int64_t least = kNever;
  for (const auto& [id, member] : members_) least = std::min(least, member.iterations);
  return least == kNever ? departed_iterations_ : least;
}

Entry SynchronousGroup::await_round(std::unique_lock<std::mutex>& lock, int learner, int64_t round, Clock::time_point deadline,
                                    const std::atomic<bool>& cancelled) {
  // Spinning with more members than processors would keep the one that is waited for from running.
  bool may_spin = members_.size() <= std::thread::hardware_concurrency();
  while (true) {
    if (const std::exception_ptr failure = averaging_.failure()) std::rethrow_exception(failure);
    if (stopped_ || cancelled) return Entry::cancelled;
    if (members_.count(learner) == 0) return Entry::evicted;
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

void SynchronousGroup::arrive(int learner, int64_t round, size_t bucket, Contribution contribution) {
  contribution.ready = backend_.record();
  std::unique_lock lock(mutex_);
  const auto member = members_.find(learner);
  if (member == members_.end()) return;
  for (Round& each : open_) {
    if (each.number != round) continue;
    Gathering& gathering = each.buckets[bucket][member->second.device];
    if (gathering.pending.erase(learner)) gathering.arrived.emplace(learner, contribution);
  }
  advance();
  averaging_.help(lock);
}

void SynchronousGroup::arrive(int learner, int64_t round, const Contribution& contribution) {
  for (size_t bucket = 0; bucket < averaging_.buckets().size(); ++bucket) arrive(learner, round, bucket, contribution);
}

void SynchronousGroup::begin_round(Round& round) {
  round.begun = true;
  const int64_t first = first_iteration(round.number);
  averaging_.begin({round.number, first, round.position, round.next_position, rates_.at(first + round.length - 1), round.restarts},
                   round.present.size());
}

void SynchronousGroup::advance() {
  if (open_.empty()) return;
  Round& round = open_.front();
  for (size_t bucket = 0; bucket < round.buckets.size(); ++bucket)
    for (size_t device = 0; device < averaging_.devices(); ++device) {
      Gathering& gathering = round.buckets[bucket][device];
      if (gathering.complete || !gathering.pending.empty()) continue;
      gathering.complete = true;
      if (!round.begun) begin_round(round);
      std::vector<Contribution> contributions;
      for (const auto& [learner, contribution] : gathering.arrived) contributions.push_back(contribution);
      averaging_.meet(bucket, device, contributions);
    }
}

void SynchronousGroup::finish_round() {
  open_.pop_front();
  whole_rounds_.store(++round_, std::memory_order_release);
  advance();  // where the next round's members are all gone
  changed_.notify_all();
}

}  // namespace arbalest
