#pragma once

#include <memory>

#include "device/collective.h"

namespace arbalest::cuda {

// Of the process's first so many GPUs, a rank each, by NCCL. Throws BACKEND_UNAVAILABLE, DEVICE_FAILED.
std::unique_ptr<Collective> nccl_collective(int devices);

}  // namespace arbalest::cuda
