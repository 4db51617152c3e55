// The two kernels of maximum pooling: over strips of channels, and over planes.
#pragma once

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// Whether windows of 2x2 lie side by side in planes: their lanes are columns then.
bool pools_planes(const LoweringRequest& request, const std::string& layout);

// Of x -> y, position; and of position, gy -> gx.
void check_max_pool(const Shapes& shapes);
void check_max_pool_backward(const Shapes& shapes);

}  // namespace arbalest::kernels
