// Threads on the cores of the machine.
#pragma once

#include <cstddef>
#include <vector>

namespace arbalest {

// The calling thread, and those that it makes from here on, run on these cores only. Throws INVALID_OPTION where the system does not let
// it. Without effect where the system knows no such thing.
void keep_to_cores(const std::vector<int>& cores);

// That the machine has, or at least 1. Asked once: the system reads a file for it, which takes 5 us.
size_t cores_of_machine();

}  // namespace arbalest
