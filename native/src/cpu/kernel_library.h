// Finds and opens the kernel library that suits this processor; it is in the same folder as the library of this code.
#pragma once

#include "cpu/kernels/kernels.h"

namespace arbalest {

// Opened at the first call and never closed. Throws BACKEND_UNAVAILABLE.
const KernelLibrary& kernel_library();

}  // namespace arbalest
