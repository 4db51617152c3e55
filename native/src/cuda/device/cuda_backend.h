#pragma once

#include "device/backend.h"

namespace arbalest::cuda {

// One of the GPUs that CUDA_VISIBLE_DEVICES names. The process has one backend for each, made at the first call for its number. Throws
// BACKEND_UNAVAILABLE if there is no GPU or no driver, or if the driver is too old.
Backend* cuda_backend(int device);

}  // namespace arbalest::cuda
