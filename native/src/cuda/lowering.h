// The layouts and element types of the inputs and outputs of each operator, the same on a GPU and in the stand-in.
#pragma once

#include "device/backend.h"

namespace arbalest::cuda {

// `clusters`: whether the device has clusters of blocks. Throws UNSUPPORTED_OPERATOR and UNSUPPORTED_PRECISION.
LoweringAnswer lower_operator(const LoweringRequest& request, bool clusters);

// Throws INVALID_PROGRAM for a layout that is not this backend's, and for tensors of 2^31 elements and more.
size_t bytes_of(const TensorSpec& spec);

}  // namespace arbalest::cuda
