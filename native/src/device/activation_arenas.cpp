#include "device/activation_arenas.h"

#include <algorithm>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

ActivationArenas::ActivationArenas(Backend& backend, size_t bytes, int count, size_t staged, const HostTierSpec& tier)
    : bytes_(bytes), staged_(staged), slots_(static_cast<size_t>(count)) {
  for (Slot& slot : slots_) {
    slot.memory = Memory(backend, bytes);
    slot.tier = make_tier(backend, staged, tier);
  }
}

// If there is an arena for each user, each keeps its own, which its core's cache may still hold. Otherwise an arena that has been touched
// is preferred: it takes no new memory.
int ActivationArenas::choose(const ArenaUser& user) const {
  const auto free = [&](int slot) { return !slots_[static_cast<size_t>(slot)].lent; };
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

ArenaUser::ArenaUser(std::shared_ptr<ActivationArenas> arenas) : arenas_(std::move(arenas)) {
  const std::lock_guard lock(arenas_->mutex_);
  auto& slots = arenas_->slots_;
  const auto emptiest =
      std::min_element(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.residents < b.residents; });
  ++emptiest->residents;
  home_ = last_ = static_cast<int>(emptiest - slots.begin());
  ++arenas_->users_;
}

ArenaUser::~ArenaUser() {
  give_back();
  const std::lock_guard lock(arenas_->mutex_);
  --arenas_->slots_[static_cast<size_t>(home_)].residents;
  --arenas_->users_;
}

bool ArenaUser::take(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (has()) return true;
  std::unique_lock lock(arenas_->mutex_);
  auto& queue = arenas_->queue_;
  if (queue.empty()) {
    if (const int slot = arenas_->choose(*this); slot >= 0) {
      arenas_->lend(slot, *this);
      return true;
    }
  }
  queue.push_back(this);
  while (!has() && !cancelled.load(std::memory_order_relaxed)) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) break;
    arenas_->changed_.wait_until(lock, std::min(deadline, now + kSlice));
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
  if (arenas_->queue_.empty()) return;
  ArenaUser* const next = arenas_->queue_.front();
  arenas_->queue_.pop_front();
  arenas_->lend(slot, *next);
  arenas_->changed_.notify_all();
}

}  // namespace arbalest
