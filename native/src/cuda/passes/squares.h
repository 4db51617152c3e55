// The sum of the squares of a vector, in an order that does not depend on the device.
#pragma once

#include "../reduction.h"
#include "passes.h"

namespace arbalest::cuda {

inline constexpr int kSquareChunks = kSquarePartials;

struct SquareChunks {
  using Sum = double;

  const float* vector;
  double* partials;  // (kSquareChunks)
  int64_t begin, end;
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    Sum found = 0;
    for (int64_t i = begin + block * kThreads + thread; i < end; i += int64_t{kSquareChunks} * kThreads)
      found += static_cast<double>(vector[i]) * vector[i];
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return a + b; }
  EVERYWHERE void finish(int64_t block, int, const Sum& sum) const { partials[block] = sum; }
};

struct SumOfChunks {
  using Sum = double;

  double* partials;  // (kSquareChunks); the sum goes to the first
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t, int thread) const { return thread < kSquareChunks ? partials[thread] : 0.0; }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return a + b; }
  EVERYWHERE void finish(int64_t, int, const Sum& sum) const { partials[0] = sum; }
};

}  // namespace arbalest::cuda
