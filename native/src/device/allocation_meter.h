// Bytes that are allocated in one memory, and the most that were at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace arbalest {

// Any thread may use it.
class AllocationMeter {
 public:
  void add(size_t bytes) {
    const std::lock_guard lock(mutex_);
    now_ += bytes;
    for (size_t* const peak : peaks_) *peak = std::max(*peak, now_);
  }
  void remove(size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    now_ -= bytes;
  }
  size_t now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }

 private:
  friend class AllocationWatch;

  mutable std::mutex mutex_;
  size_t now_ = 0;
  std::vector<size_t*> peaks_;  // of those who watch
};

// Watches a meter, which outlives it.
class AllocationWatch {
 public:
  explicit AllocationWatch(AllocationMeter& meter) : meter_(meter) {
    const std::lock_guard lock(meter_.mutex_);
    before_ = peak_ = meter_.now_;
    meter_.peaks_.push_back(&peak_);
  }
  ~AllocationWatch() {
    const std::lock_guard lock(meter_.mutex_);
    std::erase(meter_.peaks_, &peak_);
  }
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;

  // The most bytes at a time since it began, less those that were allocated then.
  size_t peak() const {
    const std::lock_guard lock(meter_.mutex_);
    return peak_ - before_;
  }

 private:
  AllocationMeter& meter_;
  size_t before_ = 0, peak_ = 0;  // with the meter's lock held
};

}  // namespace arbalest
