// That something of a group's state has changed, for the threads that wait for it. Each looks again at what it waits for.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "core/clock.h"
#include "core/condition_variable.h"

namespace arbalest {

class Changes {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // With the lock held.
  void announce() {
    count_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
  }

  // Sleeps until the next change, or until a time. Without a condition it may wake for no reason.
  template <class... Condition> void wait_until(Lock& lock, Clock::time_point time, Condition&&... condition) {
    changed_.wait_until(lock, time, std::forward<Condition>(condition)...);
  }
  template <class Condition> void wait(Lock& lock, Condition&& condition) { changed_.wait(lock, std::forward<Condition>(condition)); }

  // Releases the lock, and keeps the processor until the next change or until a time: waking a thread that sleeps takes tens of
  // microseconds, and in a virtual machine more.
  void poll_until(Lock& lock, Clock::time_point time) {
    const uint64_t before = count_.load(std::memory_order_relaxed);
    lock.unlock();
    while (count_.load(std::memory_order_acquire) == before && Clock::now() < time) relax();
    // Who announces a change has the lock for a moment more.
    while (!lock.try_lock() && Clock::now() < time) relax();
    if (!lock.owns_lock()) lock.lock();
  }

 private:
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::condition_variable changed_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace arbalest
