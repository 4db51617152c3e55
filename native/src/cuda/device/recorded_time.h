#pragma once

#include <functional>

#include "cuda/device/runtime.h"

namespace arbalest::cuda {

// Milliseconds of a run of `work`, which queues on `stream`, among others in a recorded step: what the host takes to queue a small kernel
// is more than the kernel takes, and would be all that is measured. Throws UNSUPPORTED_OPERATOR where it cannot be recorded, and what it
// throws.
float milliseconds_recorded(cudaStream_t stream, const std::function<void()>& work);

}  // namespace arbalest::cuda
