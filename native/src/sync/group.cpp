#include "group.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

namespace arbalest {
namespace {

constexpr size_t kKeptLosses = 65536;
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

Group::Group(Backend& backend, GroupSpec spec, const std::byte* initial_canonical)
    : backend_(backend), spec_(std::move(spec)), losses_(kKeptLosses) {
  if (spec_.layout.bytes == 0) throw Error("INVALID_MODEL", "parameters: received none; a group needs a model with something to train");
  for (Memory& model : central_) model = Memory(backend_, spec_.layout.bytes);
  from_canonical(backend_, spec_.layout, initial_canonical, central_[0].data());
  std::memcpy(central_[1].data(), central_[0].data(), spec_.layout.bytes);
}

int64_t Group::join(int learner) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found != members_.end()) {
    if (found->second.until == kNever || found->second.round < found->second.until)
      throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is already a member of the group; let it leave first");
    members_.erase(found);
  }
  Member member;
  member.round = last_opened() + 1;
  member.iterations = member.round * spec_.period;
  member.slot = std::make_shared<Memory>(backend_, spec_.layout.bytes);
  const int64_t from = member.round;
  members_.emplace(learner, std::move(member));
  return from;
}

int64_t Group::leave(int learner) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end())
    throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is not a member of the group; it cannot leave");
  found->second.until = last_opened() + 1;
  changed_.notify_all();
  return found->second.until;
}

void Group::evict(int learner) {
  std::shared_ptr<RoundSum> sum;
  {
    const std::lock_guard lock(mutex_);
    departed_iterations_ = whole_iterations();
    members_.erase(learner);
    for (Round& round : open_) round.pending.erase(learner);
    sum = begin_sum_if_complete();
    changed_.notify_all();
  }
  if (sum) help(sum);
}

void Group::set_rates(int64_t from_iteration, std::span<const float> rates) {
  if (rates.empty()) throw Error("INVALID_OPTION", "rates: received none; give at least one");
  const std::lock_guard lock(mutex_);
  rates_.erase(rates_.lower_bound(from_iteration), rates_.end());
  rates_[from_iteration] = {rates.begin(), rates.end()};
}

void Group::set_restarts(std::vector<int64_t> rounds) {
  const std::lock_guard lock(mutex_);
  restarts_ = {rounds.begin(), rounds.end()};
}

void Group::set_pause(int64_t round) {
  const std::lock_guard lock(mutex_);
  // A round that somebody has entered is finished by all: whoever stopped before it would hold up the others.
  pause_ = round == kNever ? kNever : std::max(round, last_opened() + 1);
  changed_.notify_all();
}

void Group::set_end(int64_t iterations) {
  const std::lock_guard lock(mutex_);
  end_ = iterations;
}

void Group::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

GroupStatus Group::status() const {
  const std::lock_guard lock(mutex_);
  GroupStatus status{round_, whole_iterations(), position_, {}, {}, not_finite_at_};
  for (const auto& [id, member] : members_)
    if (member.round < member.until) status.members.push_back(id);
  if (!open_.empty())
    for (const auto& arrived : open_.front().arrived) status.arrived.push_back(arrived.first);
  return status;
}

std::vector<float> Group::losses(int64_t from_iteration) const {
  const std::lock_guard lock(mutex_);
  const int64_t until = whole_iterations();
  std::vector<float> losses;
  for (int64_t i = std::max(from_iteration, until - static_cast<int64_t>(kKeptLosses)); i < until; ++i) {
    const Loss& loss = losses_[static_cast<size_t>(i) % kKeptLosses];
    losses.push_back(loss.iteration == i && loss.count > 0 ? static_cast<float>(loss.sum / loss.count) : std::nanf(""));
  }
  return losses;
}

void Group::read_central(std::byte* canonical) const {
  Memory copy(backend_, spec_.layout.bytes);
  copy_central(copy.data());
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

void Group::write_central(const std::byte* canonical) {
  const std::lock_guard lock(mutex_);
  if (!open_.empty())
    throw Error("INVALID_STATE", "central model: round " + std::to_string(open_.front().number) + " is in progress; pause the group first");
  for (Memory& model : central_) from_canonical(backend_, spec_.layout, canonical, model.data());
  for (auto& [id, member] : members_) member.fresh = true;
}

int64_t Group::copy_central(std::byte* vector) const {
  const std::lock_guard lock(mutex_);
  std::memcpy(vector, central(round_), spec_.layout.bytes);
  return round_;
}

double Group::rate_at(int64_t iteration) const {
  auto after = rates_.upper_bound(iteration);
  if (after == rates_.begin()) return 0;
  const auto& [from, rates] = *std::prev(after);
  return rates[std::min<size_t>(static_cast<size_t>(iteration - from), rates.size() - 1)];
}

// Fixes who takes part in the round and which samples it takes.
Group::Round& Group::open(int64_t number) {
  for (Round& round : open_)
    if (round.number == number) return round;
  Round round;
  round.number = number;
  round.length = std::min(spec_.period, end_ - number * spec_.period);
  round.position = position_;
  round.restart = restarts_.count(number) != 0;
  for (const auto& [id, member] : members_)
    if (member.round <= number && number < member.until) round.members.push_back(id);
  round.pending = {round.members.begin(), round.members.end()};
  round.alpha = spec_.alpha.value_or(std::min(1.0 / static_cast<double>(round.members.size()), 0.5));
  position_ += static_cast<uint64_t>(static_cast<int64_t>(round.members.size()) * round.length * spec_.batch);
  open_.push_back(std::move(round));
  return open_.back();
}

Entry Group::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  std::unique_lock lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end()) return Entry::evicted;
  Member& member = found->second;
  if (stopped_ || cancelled) return Entry::cancelled;
  if (member.round >= member.until) return Entry::evicted;
  if (member.step == 0 && (member.round >= pause_ || member.round * spec_.period >= end_)) {
    // Paused means that the central model is whole: it may be measured, saved or replaced.
    const Entry entry = await_locked(lock, learner, member.round, deadline, cancelled);
    return entry == Entry::granted ? Entry::paused : entry;
  }
  const Round& round = open(member.round);
  const bool starts_anew = member.step == 0 && (member.fresh || round.restart);
  if (starts_anew) {
    const Entry entry = await_locked(lock, learner, member.round, deadline, cancelled);
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
  ticket.rate = rate_at(ticket.iteration);
  ticket.alpha = entered.alpha;
  ticket.corrects = self.step == entered.length - 1;
  ticket.starts_anew = starts_anew;
  self.fresh = false;
  self.length = entered.length;
  return Entry::granted;
}

Entry Group::await(int learner, int64_t round, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (whole_rounds_.load(std::memory_order_acquire) >= round) return Entry::granted;
  std::unique_lock lock(mutex_);
  return await_locked(lock, learner, round, deadline, cancelled);
}

Entry Group::await_locked(std::unique_lock<std::mutex>& lock, int learner, int64_t round, Clock::time_point deadline,
                          const std::atomic<bool>& cancelled) {
  // Spinning with more members than processors would keep the one that is waited for from running.
  bool may_spin = members_.size() <= std::thread::hardware_concurrency();
  while (true) {
    if (stopped_ || cancelled) return Entry::cancelled;
    if (members_.count(learner) == 0) return Entry::evicted;
    if (round_ >= round) return Entry::granted;
    if (const std::shared_ptr<RoundSum> sum = sum_; sum && sum->has_pieces()) {
      lock.unlock();
      help(sum);
      lock.lock();
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

std::shared_ptr<Memory> Group::slot(int learner) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  return found == members_.end() ? nullptr : found->second.slot;
}

void Group::arrive(int learner, int64_t number) {
  std::shared_ptr<RoundSum> sum;
  {
    const std::lock_guard lock(mutex_);
    const auto member = members_.find(learner);
    if (member == members_.end()) return;
    for (Round& round : open_)
      if (round.number == number && round.pending.erase(learner)) round.arrived.emplace(learner, member->second.slot);
    sum = begin_sum_if_complete();
  }
  if (sum) help(sum);
}

bool Group::report(int learner, int64_t iteration, double loss) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end()) return true;
  if (!std::isfinite(loss)) {
    if (not_finite_at_ < 0 || iteration < not_finite_at_) not_finite_at_ = iteration;
    stopped_ = true;
    changed_.notify_all();
    return false;
  }
  Loss& entry = losses_[static_cast<size_t>(iteration) % kKeptLosses];
  if (entry.iteration != iteration) entry = {0, 0, iteration};
  entry.sum += loss;
  ++entry.count;

  Member& member = found->second;
  member.iterations = iteration + 1;
  if (++member.step >= member.length) {
    ++member.round;
    member.step = 0;
  }
  return true;
}

int64_t Group::whole_iterations() const {
  int64_t least = kNever;
  for (const auto& [id, member] : members_) least = std::min(least, member.iterations);
  return least == kNever ? departed_iterations_ : least;
}

std::shared_ptr<RoundSum> Group::begin_sum_if_complete() {
  if (sum_ || open_.empty() || !open_.front().pending.empty()) return nullptr;
  const Round& round = open_.front();
  std::vector<std::shared_ptr<Memory>> slots;
  for (const auto& [id, slot] : round.arrived) slots.push_back(slot);
  const Type type = spec_.layout.type();
  // A round that all its members left before they arrived changes nothing, but it still has its number.
  const bool still = round.arrived.empty() || round.number == 0 || round.restart;
  AveragePass pass;
  pass.type = type;
  pass.central = central(round.number);
  pass.before = central_[(round.number + 1) & 1].data();
  pass.mu = still ? 0 : spec_.sync_momentum;
  auto sum = std::make_shared<RoundSum>(backend_, pass, spec_.layout.bytes / size_of(type), std::move(slots));
  sum_ = sum;
  changed_.notify_all();
  return sum;
}

void Group::help(const std::shared_ptr<RoundSum>& sum) {
  if (sum->help()) finish_sum();
}

void Group::finish_sum() {
  std::shared_ptr<RoundSum> next;
  {
    const std::lock_guard lock(mutex_);
    sum_.reset();
    open_.pop_front();
    whole_rounds_.store(++round_, std::memory_order_release);
    next = begin_sum_if_complete();  // where the next round's members are all gone
    changed_.notify_all();
  }
  if (next) help(next);
}

}  // namespace arbalest
