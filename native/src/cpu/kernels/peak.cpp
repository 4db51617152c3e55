// The processor's peak: fused multiply-adds on registers, in more chains than needed to hide their latency.
#include <chrono>

#include "cpu/kernels/simd.h"
#include "cpu/kernels/vector_passes.h"

namespace arbalest::kernels {
namespace {

constexpr int kChains = kLanes == 16 ? 24 : 12;
constexpr int kTurns = 20000;

// The end of the chains, which the compiler must not remove.
float multiply_add(float factor, float addend) {
  Floats chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = all(static_cast<float>(i));
  const Floats factors = all(factor), addends = all(addend);
  for (int turn = 0; turn < kTurns; ++turn) {
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * factors + addends;
  }
  Floats sum{};
  for (int i = 0; i < kChains; ++i) sum += chains[i];
  return static_cast<float>(sum_of(sum));
}

}  // namespace

double measure_peak() {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
  volatile float factor = 0.5f, result = 0;
  double best = 0;
  // The best of many short windows: other processes on the core must not count.
  for (const Clock::time_point start = Clock::now(); seconds_since(start) < 0.1;) {
    const Clock::time_point window = Clock::now();
    result = multiply_add(factor, 1.0f);
    const double flops = 2.0 * kLanes * kChains * kTurns / seconds_since(window);
    best = flops > best ? flops : best;
  }
  return result > 0 ? best : 0;
}

}  // namespace arbalest::kernels
