// The three ways in which our kernels run. Their programs are the same objects on a GPU and in the stand-in; only this file knows the
// difference.
//
//   each(stream, n, f)                f(i) for every i below n, in any order and at once
//   blocks(stream, count, p)          `count` blocks of kThreads threads that share p.Shared and meet between p.kPhases phases
//   clusters(stream, count, size, p)  `count` clusters of `size` blocks of kThreads threads
//
// In a cluster each thread has its own P::Own, and each block has p.shared_bytes() of shared memory, which the cluster's other blocks can
// read. A block's threads meet after each of the p.phases() phases. All threads of the cluster meet after each phase for which
// p.together(phase) is true, and before the end.
//
// Programs are plain structures, copied when they are queued: pointers, extents, and an EVERYWHERE operator() or run().
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "cuda/device_backend.h"
#include "cuda/everywhere.h"
#if defined(__CUDACC__)
#include <cooperative_groups.h>

#include "cuda/device/cuda_stream.h"
#else
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/host/host_stream.h"
#include "cuda/host/launches.h"
#endif

namespace arbalest::cuda {

inline constexpr int kThreads = 256;

// The limits of all GPUs and toolkits, which the stand-in checks too: bytes of a launch's arguments, and of a block's shared memory without
// special settings. The number of blocks needs no check: they lie along the axis that allows as many blocks as a tensor has elements.
inline constexpr size_t kMostArguments = 4096, kMostShared = 48 << 10;

// The most shared memory of a cluster's block, which all GPUs since Ampere have.
inline constexpr size_t kMostClusterShared = 96 << 10;

// A block's place in its cluster, and the shared memory of the cluster's blocks, from a multiple of 16 bytes on.
struct ClusterBlock {
  int64_t cluster;
  int rank, size;
#if defined(__CUDA_ARCH__)
  unsigned char* memory;
  EVERYWHERE unsigned char* own() const { return memory; }
  EVERYWHERE const unsigned char* of(int other) const {
#if __CUDA_ARCH__ >= 900
    if (other != rank) return cooperative_groups::this_cluster().map_shared_rank(memory, static_cast<unsigned>(other));
#endif
    return memory;
  }
#else
  unsigned char* const* memory;
  EVERYWHERE unsigned char* own() const { return memory[rank]; }
  EVERYWHERE const unsigned char* of(int other) const { return memory[other]; }
#endif
};

// The most learners of one launch: rows of a table among its arguments, which needs no separate copy to the device.
inline constexpr int kMostTogether = 32;

#if defined(__CUDACC__)

// Programmatic dependent launch, from Hopper on. A kernel's blocks start while the stream's previous kernel ends, and wait here before they
// access memory. A kernel triggers the next one in its last phase: blocks that wait longer would take the place of other kernels' blocks.
__device__ inline void await_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
__device__ inline void trigger_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

template <class F> __global__ void __launch_bounds__(kThreads) each_kernel(int64_t n, const __grid_constant__ F f) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  await_previous_kernel();
  trigger_next_kernel();
  if (i < n) f(i);
}

template <class P> __global__ void __launch_bounds__(kThreads) blocks_kernel(const __grid_constant__ P program) {
  __shared__ typename P::Shared shared;
  await_previous_kernel();
#pragma unroll
  for (int phase = 0; phase < P::kPhases; ++phase) {
    if (phase + 1 == P::kPhases) trigger_next_kernel();
    program.run(phase, static_cast<int64_t>(blockIdx.x), static_cast<int>(threadIdx.x), shared);
    if (phase + 1 < P::kPhases) __syncthreads();
  }
}

// P::kMinBlocks: blocks that a multiprocessor shall hold at least. While one waits, another works.
template <class P> __global__ void __launch_bounds__(kThreads, P::kMinBlocks) clusters_kernel(const __grid_constant__ P program, int size) {
#if defined(__CUDA_ARCH__)
  extern __shared__ __align__(16) unsigned char memory[];
  const ClusterBlock block{static_cast<int64_t>(blockIdx.x) / size, static_cast<int>(blockIdx.x) % size, size, memory};
  typename P::Own own;
  const int phases = program.phases();
  await_previous_kernel();
  for (int phase = 0; phase < phases; ++phase) {
    if (phase + 1 == phases) trigger_next_kernel();
    program.run(phase, block, static_cast<int>(threadIdx.x), own);
#if __CUDA_ARCH__ >= 900
    // A block does not end before the others have read its memory.
    if (size > 1 && (program.together(phase) || phase + 1 == phases)) {
      cooperative_groups::this_cluster().sync();
      continue;
    }
#endif
    if (phase + 1 < phases) __syncthreads();
  }
#endif
}

template <class... Parameters, class... Arguments>
void launch(DeviceStream& stream, int64_t count, int cluster, size_t bytes, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (bytes > kMostShared)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), "launch of a kernel");
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = {static_cast<unsigned>(count), 1, 1};
  config.blockDim = {kThreads, 1, 1};
  config.dynamicSmemBytes = bytes;
  config.stream = handle_of(stream);
  config.attrs = attributes;
  if (stream.backend().launches_dependently()) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  }
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch of a kernel");
}

template <class F> void each(DeviceStream& stream, int64_t n, const F& f) {
  static_assert(sizeof(n) + sizeof(F) <= kMostArguments);
  if (n > 0) launch(stream, (n + kThreads - 1) / kThreads, 1, 0, each_kernel<F>, n, f);
}

template <class P> void blocks(DeviceStream& stream, int64_t count, const P& program) {
  static_assert(sizeof(P) <= kMostArguments && sizeof(typename P::Shared) <= kMostShared);
  if (count > 0) launch(stream, count, 1, 0, blocks_kernel<P>, program);
}

template <class P> void clusters(DeviceStream& stream, int64_t count, int size, const P& program) {
  static_assert(sizeof(P) + sizeof(int) <= kMostArguments);
  launch(stream, count * size, size, program.shared_bytes(), clusters_kernel<P>, program, size);
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

template <class P> void clusters(DeviceStream& stream, int64_t count, int size, const P& program) {
  static_assert(sizeof(P) + sizeof(int) <= kMostArguments);
  const size_t bytes = (program.shared_bytes() + 15) / 16 * 16;
  if (bytes > kMostClusterShared || size > kMaxClusterSize)
    throw Error("INTERNAL", "a cluster: received blocks of more shared memory than a GPU has, or more of them; report this");
  count_launch<P>();
  queue_of(stream).submit([count, size, bytes, program] {
    struct alignas(16) Piece {
      unsigned char bytes[16];
    };
    // A guard follows each block's memory. No block may write to it.
    constexpr size_t kGuard = 256;
    std::vector<Piece> shared((bytes + kGuard) / sizeof(Piece) * static_cast<size_t>(size));
    std::vector<typename P::Own> own(static_cast<size_t>(size) * kThreads);
    std::vector<unsigned char*> memory;
    for (int rank = 0; rank < size; ++rank)
      memory.push_back(reinterpret_cast<unsigned char*>(shared.data()) + static_cast<size_t>(rank) * (bytes + kGuard));
    for (int64_t cluster = 0; cluster < count; ++cluster) {
      std::memset(static_cast<void*>(shared.data()), 0xff, shared.size() * sizeof(Piece));
      std::memset(static_cast<void*>(own.data()), 0xff, own.size() * sizeof(typename P::Own));
      for (int phase = 0; phase < program.phases(); ++phase)
        for (int rank = 0; rank < size; ++rank)
          for (int thread = 0; thread < kThreads; ++thread)
            program.run(phase, ClusterBlock{cluster, rank, size, memory.data()}, thread,
                        own[static_cast<size_t>(rank * kThreads + thread)]);
      for (const unsigned char* const block : memory)
        for (size_t i = 0; i < kGuard; ++i)
          if (block[bytes + i] != 0xff) throw Error("INTERNAL", "a cluster: a block has written behind its shared memory; report this");
    }
  });
}

#endif

}  // namespace arbalest::cuda
