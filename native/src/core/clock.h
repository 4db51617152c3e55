// The clock by which threads wait and measure.
#pragma once

#include <chrono>

namespace arbalest {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

inline Clock::time_point after(Clock::time_point start, double milliseconds) {
  return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace arbalest
