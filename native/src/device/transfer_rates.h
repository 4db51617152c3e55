#pragma once

#include "device/backend.h"

namespace arbalest {

// Bytes a second to the second tier of a device, and back.
struct TransferRates {
  double store = 0, fetch = 0;
};

// Measured with a value of `bytes`. Throws what `make_tier` throws, and OUT_OF_MEMORY.
TransferRates measure_transfers(Backend& backend, size_t bytes, const HostTierSpec& spec);

}  // namespace arbalest
