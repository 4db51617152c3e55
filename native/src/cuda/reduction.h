// The sum of the results of a block's threads, as a tree of fixed order: the same bits in every run.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/launch.h"

namespace arbalest::cuda {

// A sum of each of a block's threads. Word by word, and of each word all threads' side by side: neighbouring threads then have banks of
// their own, however long a sum is.
template <class Sum> struct SumsOfThreads {
  static constexpr int kWords = sizeof(Sum) / sizeof(uint32_t);
  static_assert(kWords * sizeof(uint32_t) == sizeof(Sum));
  uint32_t words[kWords][kThreads];

  EVERYWHERE void put(int thread, const Sum& sum) {
    uint32_t own[kWords];
    memcpy(own, &sum, sizeof sum);
    for (int word = 0; word < kWords; ++word) words[word][thread] = own[word];
  }
  EVERYWHERE Sum get(int thread) const {
    uint32_t own[kWords];
    for (int word = 0; word < kWords; ++word) own[word] = words[word][thread];
    Sum sum;
    memcpy(&sum, own, sizeof sum);
    return sum;
  }
};

// R has a type Sum, `int lanes` (a power of two up to kThreads: threads of the same number modulo `lanes` are summed), and
//   Sum partial(int64_t block, int thread) const;               what one thread found
//   static Sum sum(const Sum& left, const Sum& right);
//   void finish(int64_t block, int lane, const Sum& sum) const;
template <class R> struct Reduction {
  static constexpr int kLevels = 8;
  static_assert(kThreads == 1 << kLevels);
  static constexpr int kPhases = 1 + kLevels + 1;
  using Shared = SumsOfThreads<typename R::Sum>;

  R r;

  EVERYWHERE void run(int phase, int64_t block, int thread, Shared& shared) const {
    if (phase == 0) {
      shared.put(thread, r.partial(block, thread));
    } else if (phase <= kLevels) {
      const int stride = kThreads >> phase;
      if (stride >= r.lanes && thread < stride) shared.put(thread, R::sum(shared.get(thread), shared.get(thread + stride)));
    } else if (thread < r.lanes) {
      r.finish(block, thread, shared.get(thread));
    }
  }
};

template <class R> void reduce(DeviceStream& stream, int64_t blocks_, const R& r) { blocks(stream, blocks_, Reduction<R>{r}); }

}  // namespace arbalest::cuda
