// Which convolutions run over planes, for kernels that leave them alone.
#pragma once

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// Whether it is a convolution of x by w to y without padding, with filters that do not fill blocks and rows of outputs that fill
// pieces of registers, whose activations are in planes already, or may be.
bool runs_in_planes(const LoweringRequest& request, const TensorSpec& x, const Shape& w, const TensorSpec& y);

}  // namespace arbalest::kernels
