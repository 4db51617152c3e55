#pragma once

#include "backend.h"

namespace arbalest::cuda {

// One GPU: the process's first, as CUDA_VISIBLE_DEVICES has it. One for the process, made at the first call. Throws BACKEND_UNAVAILABLE in
// one sentence where there is no GPU, no driver, or one that is too old.
Backend* cuda_backend();

}  // namespace arbalest::cuda
