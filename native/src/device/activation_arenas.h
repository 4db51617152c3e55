// Memory for the activations of a device's learners: as many arenas as learners can compute at once, of one size where all are learners of
// one job. An arena is lent to a learner from the beginning of a step to the end of its gradient, so that a learner that waits for its
// group holds none. The memory of an arena is first touched when it is first lent.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/condition_variable.h"
#include "device/make_tier.h"
#include "device/parameter_vectors.h"

namespace arbalest {

class ArenaUser;

class ActivationArenas {
 public:
  // Each has a second tier of its own of `staged` bytes. Throws what `make_tier` throws.
  ActivationArenas(Backend& backend, std::span<const size_t> sizes, size_t staged = 0, const HostTierSpec& tier = {});

  size_t staged() const { return staged_; }
  int count() const { return static_cast<int>(slots_.size()); }
  // Of the largest arena.
  size_t bytes() const;

 private:
  friend class ArenaUser;
  struct Slot {
    Memory memory;
    std::unique_ptr<HostTier> tier;  // its transfers end before the memory does
    int residents = 0;               // users that have it as their home
    bool lent = false, touched = false;
  };

  bool fits(int slot, const ArenaUser& user) const;
  int choose(const ArenaUser& user) const;  // the number of a free arena, or -1
  void lend(int slot, ArenaUser& user);

  const size_t staged_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::deque<ArenaUser*> queue_;  // users that wait, in order of arrival
  int users_ = 0;
};

// One of the replicas that share arenas, and the arena that it has been lent.
class ArenaUser {
 public:
  // Of arenas of at least `bytes`.
  ArenaUser(std::shared_ptr<ActivationArenas> arenas, size_t bytes);
  ~ArenaUser();
  ArenaUser(const ArenaUser&) = delete;
  ArenaUser& operator=(const ArenaUser&) = delete;

  // Waits until an arena is lent to this user. False if that has not happened by the deadline, or if the user is cancelled.
  bool take(Clock::time_point deadline, const std::atomic<bool>& cancelled);
  // The arena's contents are lost, and transfers that are under way are given up. The user that has waited longest, of those that the arena
  // is large enough for, gets it.
  void give_back();

  bool has() const { return slot_ >= 0; }
  // The number of the arena that it has, or had last; at first that of its home.
  int index() const { return last_; }
  std::byte* data() const { return arenas_->slots_[static_cast<size_t>(index())].memory.data(); }
  HostTier* tier() const { return arenas_->slots_[static_cast<size_t>(index())].tier.get(); }

 private:
  friend class ActivationArenas;
  const std::shared_ptr<ActivationArenas> arenas_;
  const size_t bytes_;
  int home_ = 0, last_ = 0;
  std::atomic<int> slot_{-1};     // written with the lock held, by the thread that lends the arena
  std::condition_variable lent_;  // one a user: lending an arena wakes its user alone, however many wait
};

}  // namespace arbalest
