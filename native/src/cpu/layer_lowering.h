// Which layouts a layer should have. The rules look at shapes and at the names of oneDNN's implementations, never at a clock: the same
// program gets the same layouts on the same kind of processor, every time.
#pragma once

#include "cpu/layer.h"

namespace arbalest {

// Throws UNSUPPORTED_OPERATOR where oneDNN has nothing for it, INVALID_PROGRAM where shapes disagree.
LoweringAnswer lower_layer(const LoweringRequest& request, int channel_block, const dnnl::engine& engine);

}  // namespace arbalest
