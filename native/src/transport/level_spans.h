// When the averaging of rounds was at work, for whoever watches it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/clock.h"

namespace arbalest {

// That a level worked at a bucket of a round, or the rule at one bucket or several, in seconds of the monotonic clock.
struct LevelSpan {
  // From the bottom; kRule for the passes that the rule makes on the devices.
  static constexpr int64_t kRule = -1;
  int64_t level = 0, round = 0;
  double start = 0, end = 0;
};

// Recorded by some threads, taken by another.
class LevelSpans {
 public:
  static double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

  void record(const LevelSpan& span) {
    const std::lock_guard lock(mutex_);
    if (!recording_) return;
    if (spans_.size() == kMost) spans_.pop_front();
    spans_.push_back(span);
  }
  // Since it was asked last, the newest 4096 at most; the first call starts the recording.
  std::vector<LevelSpan> take() {
    const std::lock_guard lock(mutex_);
    recording_ = true;
    std::vector<LevelSpan> taken(spans_.begin(), spans_.end());
    spans_.clear();
    return taken;
  }

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::deque<LevelSpan> spans_;
  bool recording_ = false;
};

}  // namespace arbalest
