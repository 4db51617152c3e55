// The reference backend: every operator as plain loops over canonical tensors, summed in double. It is the specification against
// which the fast backends are tested, in f64 the oracle of all tolerances, and the only CPU backend where oneDNN cannot be installed.
#pragma once

#include "device/backend.h"

namespace arbalest {

// Lives as long as the process, and may be used from any thread.
Backend* reference_backend();

}  // namespace arbalest
