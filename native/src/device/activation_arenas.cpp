#include "device/activation_arenas.h"

#include <algorithm>
#include <utility>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

ActivationArenas::ActivationArenas(Backend& backend, std::span<const size_t> sizes, size_t staged, const HostTierSpec& tier)
    : staged_(staged), slots_(sizes.size()) {
  for (size_t slot = 0; slot < sizes.size(); ++slot) {
    slots_[slot].memory = Memory(backend, sizes[slot]);
    slots_[slot].tier = make_tier(backend, staged, tier);
  }
}

size_t ActivationArenas::bytes() const {
  size_t most = 0;
  for (const Slot& slot : slots_) most = std::max(most, slot.memory.bytes());
  return most;
}

bool ActivationArenas::fits(int slot, const ArenaUser& user) const {
  return slots_[static_cast<size_t>(slot)].memory.bytes() >= user.bytes_;
}

// If there is an arena for each user, each keeps its own, which its core's cache may still hold. Otherwise an arena that has been touched
// is preferred: it takes no new memory.
int ActivationArenas::choose(const ArenaUser& user) const {
  const auto free = [&](int slot) { return !slots_[static_cast<size_t>(slot)].lent && fits(slot, user); };
  const auto touched = [&](int slot) { return slots_[static_cast<size_t>(slot)].touched; };
  if (users_ <= count() && free(user.home_)) return user.home_;
  if (free(user.last_) && touched(user.last_)) return user.last_;
  int untouched = -1;
  for (int slot = 0; slot < count(); ++slot) {
    if (!free(slot)) continue;
    if (touched(slot)) return slot;
    if (untouched < 0) untouched = slot;
  }
  return untouched;
}

void ActivationArenas::lend(int slot, ArenaUser& user) {
  slots_[static_cast<size_t>(slot)].lent = slots_[static_cast<size_t>(slot)].touched = true;
  user.last_ = slot;
  user.slot_ = slot;
}

ArenaUser::ArenaUser(std::shared_ptr<ActivationArenas> arenas, size_t bytes) : arenas_(std::move(arenas)), bytes_(bytes) {
  const std::lock_guard lock(arenas_->mutex_);
  auto& slots = arenas_->slots_;
  // The emptiest of those that are large enough.
  const auto home = std::min_element(slots.begin(), slots.end(), [&](const auto& a, const auto& b) {
    return std::pair(a.memory.bytes() < bytes, a.residents) < std::pair(b.memory.bytes() < bytes, b.residents);
  });
  ++home->residents;
  home_ = last_ = static_cast<int>(home - slots.begin());
  ++arenas_->users_;
}

ArenaUser::~ArenaUser() {
  give_back();
  const std::lock_guard lock(arenas_->mutex_);
  --arenas_->slots_[static_cast<size_t>(home_)].residents;
  --arenas_->users_;
}

bool ArenaUser::take(Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (has()) return true;
  std::unique_lock lock(arenas_->mutex_);
  auto& queue = arenas_->queue_;
  // Those that wait may wait for larger ones than any that is free.
  if (const int slot = arenas_->choose(*this); slot >= 0) {
    arenas_->lend(slot, *this);
    return true;
  }
  queue.push_back(this);
  while (!has() && !cancelled.load(std::memory_order_relaxed)) {
    const Clock::time_point now = Clock::now();
    if (now >= deadline) break;
    lent_.wait_until(lock, std::min(deadline, now + kSlice));
  }
  if (!has()) queue.erase(std::find(queue.begin(), queue.end(), this));
  return has();
}

void ArenaUser::give_back() {
  if (!has()) return;
  if (HostTier* const tier = this->tier()) tier->abandon();
  const std::lock_guard lock(arenas_->mutex_);
  const int slot = slot_.exchange(-1);
  arenas_->slots_[static_cast<size_t>(slot)].lent = false;
  auto& queue = arenas_->queue_;
  const auto next = std::find_if(queue.begin(), queue.end(), [&](const ArenaUser* user) { return arenas_->fits(slot, *user); });
  if (next == queue.end()) return;
  ArenaUser* const user = *next;
  queue.erase(next);
  arenas_->lend(slot, *user);
  user->lent_.notify_one();
}

}  // namespace arbalest
