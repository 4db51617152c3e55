// The reference backend: every operator as plain loops over canonical tensors, summed in double. It is the specification that the fast
// backends are tested against, in f64 the oracle of all tolerances, and the engine of last resort where oneDNN cannot be had.
#pragma once

#include "device/backend.h"

namespace arbalest {

// Lives as long as the process, and may be used from any thread.
Backend* reference_backend();

}  // namespace arbalest
