// linear and its gradients, and batches of products, by cuBLASLt.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Null for an operator of another kind. `tf32` rounds f32 factors to 10 bits, for the tensor cores.
MadeKernel make_matrix_product(const OperatorSpec& spec, DeviceStream& stream, bool tf32);

}  // namespace arbalest::cuda
