#pragma once

#include "device/backend.h"

namespace arbalest::cuda {

// One GPU, of those that CUDA_VISIBLE_DEVICES has. One for the process, made at the first call that names it. Throws BACKEND_UNAVAILABLE in
// one sentence where there is no GPU, no driver, or one that is too old.
Backend* cuda_backend(int device);

}  // namespace arbalest::cuda
