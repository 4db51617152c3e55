// The second tier of a device.
#pragma once

#include <memory>

#include "device/backend.h"

namespace arbalest {

// Of so many bytes. Null for none. Throws INVALID_OPTION, WRITE_FAILED, OUT_OF_MEMORY.
std::unique_ptr<HostTier> make_tier(Backend& backend, size_t bytes, const HostTierSpec& spec);

// The same, for transfers of any bytes and from any place: in a file, those of whole units from and to whole units are faster.
std::unique_ptr<HostTier> make_exact_tier(Backend& backend, size_t bytes, const HostTierSpec& spec);

}  // namespace arbalest
