// What a launch is, whichever machine runs it: extents and a program (launch.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/everywhere.h"
#if defined(__CUDACC__)
#include <cooperative_groups.h>
#endif

namespace arbalest::cuda {

inline constexpr int kThreads = 256;

// Limits that the stand-in checks too: bytes of a program, and of a block's shared memory without special settings. The number of blocks
// needs no check: they lie along the axis that allows as many blocks as a tensor has elements.
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

// The most learners that are rows of a table among a program's arguments, which needs no separate copy to the device.
inline constexpr int kMostTogether = 32;

// The most programs of one launch: their bytes are among its arguments, which CUDA 13 lets be 32,764.
template <class P> inline constexpr size_t kMostPrograms = std::min<size_t>(16, 32'000 / sizeof(P));

// A launch of each way.
template <class F> struct Each {
  using Program = F;
  int64_t n;
  F program;
  bool fits(const Each& other) const { return n == other.n; }
};
template <class P> struct Blocks {
  using Program = P;
  int64_t count;
  P program;
  bool fits(const Blocks& other) const { return count == other.count; }
};
template <class P> struct Clusters {
  using Program = P;
  int64_t count;
  int size;
  P program;
  bool fits(const Clusters& other) const {
    return count == other.count && size == other.size && program.shared_bytes() == other.program.shared_bytes();
  }
};

}  // namespace arbalest::cuda
