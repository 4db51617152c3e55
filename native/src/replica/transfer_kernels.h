// The operators that move values to the second tier and back: kernels over a tier, as others are over a device.
#pragma once

#include <memory>
#include <vector>

#include "core/transfers.h"
#include "device/backend.h"

namespace arbalest {

// `number`: of its transfer. `memory`: where the value lies on the device.
std::unique_ptr<Kernel> transfer_kernel(const PlacedOperator& op, size_t number, HostTier& tier, const Program& program, std::byte* memory);

}  // namespace arbalest
