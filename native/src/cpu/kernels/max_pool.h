// The kernels of maximum pooling over planes; max_pool.cpp has the operators and the kernels over strips of channels.
#pragma once

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// Null where windows are not of 2x2, side by side in planes.
std::unique_ptr<Kernel> max_pool_of_planes(const OperatorSpec& spec);
std::unique_ptr<Kernel> max_pool_of_planes_backward(const OperatorSpec& spec);

}  // namespace arbalest::kernels
