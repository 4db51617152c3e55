#pragma once

#include "device/backend.h"

namespace arbalest::cuda {

// The CUDA backend without a GPU: the same kernels in plain loops on streams that are threads, over memory that the caller cannot touch.
// It finds wrong indices, missing waits and host accesses on machines without a GPU. It has kHostDevices devices with memories of their
// own: a device that is given an address of another one throws INTERNAL. Each has as much memory as the machine, or the number of bytes in
// ARBALEST_CUDA_HOST_MEMORY.
inline constexpr int kHostDevices = 4;

// One for the process.
Backend* host_backend(int device);

}  // namespace arbalest::cuda
