// The operators of cuDNN and cuBLASLt as plain loops over the same layouts.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Null for an operator of another kind.
MadeKernel make_convolution(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_matrix_product(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
