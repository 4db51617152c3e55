// A block's sum of what its threads found, as a tree of fixed order: the same bits in every run.
#pragma once

#include "launch.h"

namespace arbalest::cuda {

// R has a type Sum, `int lanes` (a power of two up to kThreads: threads of the same number modulo `lanes` are summed), and
//   Sum partial(int64_t block, int thread) const;               what one thread found
//   static Sum sum(const Sum& left, const Sum& right);
//   void finish(int64_t block, int lane, const Sum& sum) const;
template <class R> struct Reduction {
  static constexpr int kLevels = 8;
  static_assert(kThreads == 1 << kLevels);
  static constexpr int kPhases = 1 + kLevels + 1;
  struct Shared {
    typename R::Sum sums[kThreads];
  };

  R r;

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      shared.sums[thread] = r.partial(block, thread);
    } else if (phase <= kLevels) {
      const int stride = kThreads >> phase;
      if (stride >= r.lanes && thread < stride) shared.sums[thread] = R::sum(shared.sums[thread], shared.sums[thread + stride]);
    } else if (thread < r.lanes) {
      r.finish(block, thread, shared.sums[thread]);
    }
  }
};

template <class R> void reduce(DeviceStream& stream, int64_t blocks_, const R& r) { blocks(stream, blocks_, Reduction<R>{r}); }

}  // namespace arbalest::cuda
