#include "cpu/reference/peak.h"

#include <array>
#include <chrono>

namespace arbalest::reference {

double measure_peak() {
  using Clock = std::chrono::steady_clock;
  constexpr int kLanes = 64, kRounds = 4096;  // enough independent sums to hide the latency of one
  std::array<float, kLanes> sums;
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = static_cast<float>(lane);
  const auto start = Clock::now();
  double operations = 0, seconds = 0;
  volatile float factor = 0.999f;  // unknown to the compiler, so that the loop stays
  while (seconds < 0.1) {
    const float f = factor;
    for (int round = 0; round < kRounds; ++round) {
      for (int lane = 0; lane < kLanes; ++lane) sums[lane] = sums[lane] * f + f;
    }
    operations += 2.0 * kLanes * kRounds;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  volatile float sink = 0;
  for (float sum : sums) sink = sink + sum;
  return operations / seconds;
}

}  // namespace arbalest::reference
