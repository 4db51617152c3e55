// The activations of a device's learners: so many arenas of one size as learners compute at once, lent for the part of a step that uses
// them. A learner that waits for its group holds none. Memory is touched where an arena is first lent.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "device/vectors.h"

namespace arbalest {

class ArenaUser;

class Arenas {
 public:
  Arenas(Backend& backend, size_t bytes, int count);

  size_t bytes() const { return bytes_; }
  int count() const { return static_cast<int>(slots_.size()); }

 private:
  friend class ArenaUser;
  struct Slot {
    Memory memory;
    int residents = 0;  // users whose home it is
    bool lent = false, touched = false;
  };

  int choose(const ArenaUser& user) const;  // a free one, or -1
  void lend(int slot, ArenaUser& user);

  const size_t bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::deque<ArenaUser*> queue_;  // who waits, the first come first
  int users_ = 0;
};

// One replica's place among those who share arenas, and the arena that it has been lent.
class ArenaUser {
 public:
  explicit ArenaUser(std::shared_ptr<Arenas> arenas);
  ~ArenaUser();
  ArenaUser(const ArenaUser&) = delete;
  ArenaUser& operator=(const ArenaUser&) = delete;

  // Waits for its turn. False where it has not come by the deadline, or the user is cancelled.
  bool take(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled);
  // What lies there is lost. Goes to the one who has waited longest.
  void give_back();

  bool has() const { return slot_ >= 0; }
  // Of the one that it has or had last; at first that of its home.
  int index() const { return last_; }
  std::byte* data() const { return arenas_->slots_[static_cast<size_t>(index())].memory.data(); }
  const Arenas& arenas() const { return *arenas_; }

 private:
  friend class Arenas;
  const std::shared_ptr<Arenas> arenas_;
  int home_ = 0, last_ = 0;
  std::atomic<int> slot_{-1};  // written under the lock, by whoever lends
};

}  // namespace arbalest
