// The clock by which threads wait and measure.
#pragma once

#include <chrono>

namespace arbalest {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }
inline double seconds_since(Clock::time_point start) { return seconds_between(start, Clock::now()); }

// In seconds, as it is told outside of the engine.
inline double on_clock(Clock::time_point time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

inline Clock::time_point after(Clock::time_point start, double milliseconds) {
  return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace arbalest
