#pragma once

#include "device/backend.h"

namespace arbalest::cuda {

// The CUDA backend without a GPU: the same kernels in plain loops on streams that are threads, over memory that the caller cannot touch.
// What it finds of wrong indices, missing waits and host accesses is found on machines that have no GPU. It has kHostDevices devices, whose
// memory is each one's own: a device that is given an address of another throws INTERNAL. It has as much as the machine, or so many bytes
// as ARBALEST_CUDA_HOST_MEMORY says.
inline constexpr int kHostDevices = 4;

// One for the process.
Backend* host_backend(int device);

}  // namespace arbalest::cuda
