#pragma once

#include <memory>

#include "device/collective.h"

namespace arbalest::cuda {

// Sums by NCCL over the first `devices` GPUs of the process, or of each process; each GPU is a rank. Throws BACKEND_UNAVAILABLE,
// DEVICE_FAILED.
std::unique_ptr<Collective> nccl_collective(int devices, std::shared_ptr<Peers> peers);

}  // namespace arbalest::cuda
