#pragma once

#include "device/backend.h"

namespace arbalest {

// The fast CPU backend: oneDNN for convolutions, linear layers and reorders, our own kernels for everything else. The process has one, made
// at the first call. Throws BACKEND_UNAVAILABLE.
Backend* cpu_backend();

}  // namespace arbalest
