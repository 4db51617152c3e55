// Chooses the layouts of a layer. The rules depend on shapes and on the names of oneDNN's implementations, never on measured times: the
// same program always gets the same layouts on the same kind of processor.
#pragma once

#include "cpu/onednn/layer.h"

namespace arbalest {

// Throws UNSUPPORTED_OPERATOR if oneDNN has no implementation, INVALID_PROGRAM if shapes disagree.
LoweringAnswer lower_layer(const LoweringRequest& request, int channel_block, const dnnl::engine& engine);

}  // namespace arbalest
