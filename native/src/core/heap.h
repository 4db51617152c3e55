// The memory that the process has allocated.
#pragma once

namespace arbalest {

// Returns freed memory to the system. The allocator keeps an arena for each of many threads, and what threads that have ended freed there
// stays with the process otherwise.
void trim_heap();

}  // namespace arbalest
