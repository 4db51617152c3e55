// The two ways in which our kernels run. Their programs are the same objects on a GPU and in the stand-in; only this file knows the
// difference.
//
//   each(stream, n, f)        f(i) for every i below n, in any order and at once
//   blocks(stream, count, p)  `count` blocks of kThreads threads that share p.Shared and meet between p.kPhases phases
//
// Programs are plain structures, copied when they are queued: pointers, extents, and an EVERYWHERE operator() or run().
#pragma once

#include <cstdint>

#include "core/error.h"
#include "cuda/device_stream.h"
#include "cuda/everywhere.h"
#if defined(__CUDACC__)
#include "cuda/device/cuda_stream.h"
#else
#include <cstring>

#include "cuda/host/host_stream.h"
#include "cuda/host/launches.h"
#endif

namespace arbalest::cuda {

inline constexpr int kThreads = 256;

// The limits of all GPUs and toolkits, which the stand-in checks too: bytes of a launch's arguments, and of a block's shared memory without
// special settings. The number of blocks needs no check: they lie along the axis that allows as many blocks as a tensor has elements.
inline constexpr size_t kMostArguments = 4096, kMostShared = 48 << 10;

// The most learners of one launch: rows of a table among its arguments, which needs no separate copy to the device.
inline constexpr int kMostTogether = 32;

#if defined(__CUDACC__)

template <class F> __global__ void __launch_bounds__(kThreads) each_kernel(int64_t n, const __grid_constant__ F f) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) f(i);
}

template <class P> __global__ void __launch_bounds__(kThreads) blocks_kernel(const __grid_constant__ P program) {
  __shared__ typename P::Shared shared;
#pragma unroll
  for (int phase = 0; phase < P::kPhases; ++phase) {
    program.run(phase, static_cast<int64_t>(blockIdx.x), static_cast<int>(threadIdx.x), shared);
    if (phase + 1 < P::kPhases) __syncthreads();
  }
}

template <class F> void each(DeviceStream& stream, int64_t n, const F& f) {
  static_assert(sizeof(n) + sizeof(F) <= kMostArguments);
  if (n == 0) return;
  each_kernel<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads, 0, handle_of(stream)>>>(n, f);
  check_launch();
}

template <class P> void blocks(DeviceStream& stream, int64_t count, const P& program) {
  static_assert(sizeof(P) <= kMostArguments && sizeof(typename P::Shared) <= kMostShared);
  if (count == 0) return;
  blocks_kernel<<<static_cast<unsigned>(count), kThreads, 0, handle_of(stream)>>>(program);
  check_launch();
}

#else

template <class F> void each(DeviceStream& stream, int64_t n, const F& f) {
  static_assert(sizeof(n) + sizeof(F) <= kMostArguments);
  count_launch<F>();
  queue_of(stream).submit([n, f] {
    for (int64_t i = 0; i < n; ++i) f(i);
  });
}

template <class P> void blocks(DeviceStream& stream, int64_t count, const P& program) {
  static_assert(sizeof(P) <= kMostArguments && sizeof(typename P::Shared) <= kMostShared);
  count_launch<P>();
  queue_of(stream).submit([count, program] {
    for (int64_t block = 0; block < count; ++block) {
      typename P::Shared shared;
      // As on a GPU, shared memory is not initialised; these bits are a NaN.
      std::memset(static_cast<void*>(&shared), 0xff, sizeof shared);
      for (int phase = 0; phase < P::kPhases; ++phase)
        for (int thread = 0; thread < kThreads; ++thread) program.run(phase, block, thread, shared);
    }
  });
}

#endif

}  // namespace arbalest::cuda
