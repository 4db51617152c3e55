#pragma once

#include <memory>

#include "device/collective.h"

namespace arbalest::cuda {

// Sums over the first `devices` GPUs of the process by NCCL; each GPU is a rank. Throws BACKEND_UNAVAILABLE, DEVICE_FAILED.
std::unique_ptr<Collective> nccl_collective(int devices);

}  // namespace arbalest::cuda
