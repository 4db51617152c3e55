// The three ways in which our kernels run. Their programs are the same objects on a GPU and in the stand-in, where device/launch_kernels.h
// and host/launch_loops.h run them.
//
//   each(stream, n, f)                f(i) for every i below n, in any order and at once
//   blocks(stream, count, p)          `count` blocks of kThreads threads that share p.Shared and meet between p.kPhases phases
//   clusters(stream, count, size, p)  `count` clusters of `size` blocks of kThreads threads
//
// In a cluster each thread has its own P::Own, and each block has p.shared_bytes() of shared memory, which the cluster's other blocks can
// read. A block's threads meet after each of the p.phases() phases. All threads of the cluster meet after each phase for which
// p.together(phase) is true, and before the end.
//
// Programs are plain structures, copied when they are queued: pointers, extents, and an EVERYWHERE operator() or run(). Where the stream
// keeps its launches (launch_list.h), those of several learners can be queued as one: a row of the grid for each learner's program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "cuda/device_backend.h"
#include "cuda/launch_list.h"
#include "cuda/launch_ways.h"
#if defined(__CUDACC__)
#include "cuda/device/launch_kernels.h"
#else
#include "cuda/host/launch_loops.h"
#endif

namespace arbalest::cuda {

template <class Way> class KeptWay final : public KeptKernel {
 public:
  explicit KeptWay(const Way& way) : way_(way) {}
  bool is_like(const KeptLaunch& other) const override {
    const auto* const same = dynamic_cast<const KeptWay*>(&other);
    return same && way_.fits(same->way_);
  }
  void queue(std::span<const KeptKernel* const> all, DeviceStream& stream) const override {
    std::vector<const Way*> ways;
    for (const KeptKernel* each : all) ways.push_back(&static_cast<const KeptWay*>(each)->way_);
    const std::span<const Way* const> rows(ways);
    constexpr size_t kMost = kMostPrograms<typename Way::Program>;
    for (size_t done = 0; done < rows.size(); done += kMost) queue_rows(rows.subspan(done, std::min(kMost, rows.size() - done)), stream);
  }

 private:
  const Way way_;
};

template <class Way> void queue_or_keep(const Way& way, DeviceStream& stream) {
  if (LaunchList* const kept = stream.kept())
    kept->push_back(std::make_unique<KeptWay<Way>>(way));
  else
    queue(way, stream);
}

template <class F> void each(DeviceStream& stream, int64_t n, const F& f) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(n) + sizeof(F) <= kMostArguments);
  if (n > 0) queue_or_keep(Each<F>{n, f}, stream);
}

template <class P> void blocks(DeviceStream& stream, int64_t count, const P& program) {
  static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= kMostArguments && sizeof(typename P::Shared) <= kMostShared);
  if (count > 0) queue_or_keep(Blocks<P>{count, program}, stream);
}

template <class P> void clusters(DeviceStream& stream, int64_t count, int size, const P& program) {
  static_assert(std::is_trivially_copyable_v<P> && sizeof(P) + sizeof(int) <= kMostArguments);
  if (program.shared_bytes() > kMostClusterShared || size > kMaxClusterSize)
    throw Error("INTERNAL", "a cluster: received blocks of more shared memory than a GPU has, or more of them; report this");
  queue_or_keep(Clusters<P>{count, size, program}, stream);
}

}  // namespace arbalest::cuda
