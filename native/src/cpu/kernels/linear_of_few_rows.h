// Which linear layers have few rows.
#pragma once

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

// Whether kernels of our own are worth it for a layer of which `x` is the shape of x or gy.
bool has_few_rows(const LoweringRequest& request, const Shape& x);

}  // namespace arbalest::kernels
