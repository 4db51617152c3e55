// How the GPU runs launches: a kernel for each way and program. Included by launch.h alone.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "cuda/device/cuda_stream.h"
#include "cuda/launch_ways.h"

namespace arbalest::cuda {

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

// The arguments of a kernel: one learner's program, or one for each row of the grid.
template <class P> struct OneProgram {
  P program;
  __device__ const P& own() const { return program; }
};
template <class P> struct Programs {
  alignas(P) unsigned char bytes[kMostPrograms<P>][sizeof(P)];
  __device__ const P& own() const { return reinterpret_cast<const P&>(bytes[blockIdx.y]); }
};

template <class Arguments> __global__ void __launch_bounds__(kThreads) each_kernel(int64_t n, const __grid_constant__ Arguments arguments) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  await_previous_kernel();
  trigger_next_kernel();
  if (i < n) arguments.own()(i);
}

template <class P, class Arguments> __global__ void __launch_bounds__(kThreads) blocks_kernel(const __grid_constant__ Arguments arguments) {
  __shared__ typename P::Shared shared;
  const P& program = arguments.own();
  await_previous_kernel();
#pragma unroll
  for (int phase = 0; phase < P::kPhases; ++phase) {
    if (phase + 1 == P::kPhases) trigger_next_kernel();
    program.run(phase, static_cast<int64_t>(blockIdx.x), static_cast<int>(threadIdx.x), shared);
    if (phase + 1 < P::kPhases) __syncthreads();
  }
}

// P::kMinBlocks: blocks that a multiprocessor shall hold at least. While one waits, another works.
template <class P, class Arguments>
__global__ void __launch_bounds__(kThreads, P::kMinBlocks) clusters_kernel(const __grid_constant__ Arguments arguments, int size) {
#if defined(__CUDA_ARCH__)
  extern __shared__ __align__(16) unsigned char memory[];
  const ClusterBlock block{static_cast<int64_t>(blockIdx.x) / size, static_cast<int>(blockIdx.x) % size, size, memory};
  const P& program = arguments.own();
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

struct Grid {
  int64_t blocks;
  size_t rows = 1;
  int cluster = 1;
  size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
void launch(DeviceStream& stream, const Grid& grid, void (*kernel)(Parameters...), const Arguments&... arguments) {
  static FirstLaunches first;  // of this kernel, as each has parameters of its own
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = {static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.rows), 1};
  config.blockDim = {kThreads, 1, 1};
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = handle_of(stream);
  config.attrs = attributes;
  if (stream.backend().launches_dependently()) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (grid.cluster > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(grid.cluster), 1, 1};
  }
  first.run([&] {
    // The most, not this launch's size: the attribute is the kernel's, and another thread may launch it with another size at this moment.
    if (grid.shared_bytes > kMostShared)
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kMostClusterShared)),
            "launch of a kernel");
    check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch of a kernel");
  });
}

// `rows`: the programs of `arguments`.
template <class F, class Arguments> void queue_as(const Each<F>& way, size_t rows, const Arguments& arguments, DeviceStream& stream) {
  launch(stream, {(way.n + kThreads - 1) / kThreads, rows}, each_kernel<Arguments>, way.n, arguments);
}
template <class P, class Arguments> void queue_as(const Blocks<P>& way, size_t rows, const Arguments& arguments, DeviceStream& stream) {
  launch(stream, {way.count, rows}, blocks_kernel<P, Arguments>, arguments);
}
template <class P, class Arguments> void queue_as(const Clusters<P>& way, size_t rows, const Arguments& arguments, DeviceStream& stream) {
  launch(stream, {way.count * way.size, rows, way.size, way.program.shared_bytes()}, clusters_kernel<P, Arguments>, arguments, way.size);
}

template <class Way> void queue(const Way& way, DeviceStream& stream) {
  queue_as(way, 1, OneProgram<typename Way::Program>{way.program}, stream);
}

// At most kMostPrograms of them.
template <class Way> void queue_rows(std::span<const Way* const> ways, DeviceStream& stream) {
  Programs<typename Way::Program> programs;
  for (size_t row = 0; row < ways.size(); ++row) std::memcpy(programs.bytes[row], &ways[row]->program, sizeof ways[row]->program);
  queue_as(*ways[0], ways.size(), programs, stream);
}

}  // namespace arbalest::cuda
