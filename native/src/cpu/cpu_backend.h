#pragma once

#include "device/backend.h"

namespace arbalest {

// The fast CPU backend: our own kernels, and oneDNN for reorders, matrix products, linear layers and the convolutions that our kernels
// leave. The process has one, made at the first call. Throws BACKEND_UNAVAILABLE.
Backend* cpu_backend();

}  // namespace arbalest
