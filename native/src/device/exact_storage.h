// Storage of any bytes over one of whole units, as files are read and written past the system's cache: what does not begin or end with a
// unit, or does not lie in memory as direct transfers want it, goes through a buffer.
#pragma once

#include <memory>

#include "device/transfer_queue.h"

namespace arbalest {

// `units` has room for whole units.
std::unique_ptr<TierStorage> exact_storage(std::unique_ptr<TierStorage> units);

}  // namespace arbalest
