#pragma once

#include <functional>

#include "cuda/device/runtime.h"

namespace arbalest::cuda {

// Milliseconds of one run of `work`, which queues on `stream`, measured in a recording of many runs: without a recording the time to queue
// a small kernel, which is longer than the kernel, would be measured. Throws UNSUPPORTED_OPERATOR if `work` cannot be recorded, and the
// errors of `work`.
float milliseconds_recorded(cudaStream_t stream, const std::function<void()>& work);

}  // namespace arbalest::cuda
