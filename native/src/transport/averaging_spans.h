// When the averaging of rounds was at work, for traces.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/clock.h"

namespace arbalest {

// The time that a level took for a bucket of a round, or the rule for one bucket or several, in seconds of the monotonic clock.
struct AveragingSpan {
  // The level's place from the bottom; kRule for the passes by which the rule averages.
  static constexpr int64_t kRule = -1;
  int64_t level = 0, round = 0;
  double start = 0, end = 0;
};

// Recorded by several threads, taken by one.
class AveragingSpans {
 public:
  static double now() { return on_clock(Clock::now()); }

  void record(const AveragingSpan& span) {
    const std::lock_guard lock(mutex_);
    if (!recording_) return;
    if (spans_.size() == kMost) spans_.pop_front();
    spans_.push_back(span);
  }
  // Those since the last call, the newest 4096 at most; the first call starts the recording.
  std::vector<AveragingSpan> take() {
    const std::lock_guard lock(mutex_);
    recording_ = true;
    std::vector<AveragingSpan> taken(spans_.begin(), spans_.end());
    spans_.clear();
    return taken;
  }

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::deque<AveragingSpan> spans_;
  bool recording_ = false;
};

}  // namespace arbalest
