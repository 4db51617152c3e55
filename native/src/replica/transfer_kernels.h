// The operators that move values to the second tier and back: kernels over a tier, as others are over a device.
#pragma once

#include <memory>
#include <vector>

#include "core/transfers.h"
#include "device/backend.h"
#include "replica/replica_memory.h"

namespace arbalest {

// `number`: of its transfer. `memory`: where the value lies on the device.
std::unique_ptr<Kernel> transfer_kernel(const PlacedOperator& op, size_t number, HostTier& tier, const Program& program, std::byte* memory);

// The same for a parameter or its gradient, `vector`, which lies in the second tier.
std::unique_ptr<Kernel> vector_transfer_kernel(const PlacedOperator& op, size_t number, ReplicaMemory& replica, std::byte* vector,
                                               std::byte* memory, size_t bytes);

}  // namespace arbalest
