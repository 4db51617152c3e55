// Sums along rows. Each row has a group of neighbouring threads, whose results are added up as a tree of fixed order; then every thread
// continues with the sum of its row.
#pragma once

#include "cuda/launch.h"

namespace arbalest::cuda {

// The threads of a row of `length` items, each of which is one access: whole warps first, then four items for each thread.
inline int lanes_of(int64_t length) {
  int lanes = 1;
  while (lanes < kThreads && lanes * (lanes < 32 ? 1 : 4) < length) lanes *= 2;
  return lanes;
}

// R has a type Sum and
//   Sum partial(int64_t row, int lane, int lanes) const;         what one thread found, in items lane, lane + lanes, ...
//   static Sum sum(const Sum& left, const Sum& right);
//   void finish(int64_t row, int lane, int lanes, const Sum& sum) const;
template <class R> struct RowReduction {
  static constexpr int kLevels = 8;
  static_assert(kThreads == 1 << kLevels);
  static constexpr int kPhases = 1 + kLevels + 1;
  struct Shared {
    typename R::Sum sums[kThreads];
  };

  R r;
  int64_t rows;
  int lanes;  // a power of two up to kThreads

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    const int lane = thread % lanes;
    const int64_t row = block * (kThreads / lanes) + thread / lanes;
    if (row >= rows) return;
    if (phase == 0) {
      shared.sums[thread] = r.partial(row, lane, lanes);
    } else if (phase <= kLevels) {
      const int stride = kThreads >> phase;
      if (lane < stride && stride < lanes) shared.sums[thread] = R::sum(shared.sums[thread], shared.sums[thread + stride]);
    } else {
      r.finish(row, lane, lanes, shared.sums[thread - lane]);
    }
  }
};

// `length`: items of a row that a thread reads at once.
template <class R> void reduce_rows(DeviceStream& stream, int64_t rows, int64_t length, const R& r) {
  const int lanes = lanes_of(length), at_once = kThreads / lanes;
  blocks(stream, (rows + at_once - 1) / at_once, RowReduction<R>{r, rows, lanes});
}

}  // namespace arbalest::cuda
