// Threads on the cores of a device.
#pragma once

#include <vector>

namespace arbalest {

// The calling thread, and those that it makes from here on, run on these cores only. Throws INVALID_OPTION where the system does not let
// it. Without effect where the system knows no such thing.
void keep_to_cores(const std::vector<int>& cores);

}  // namespace arbalest
