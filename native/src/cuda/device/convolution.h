// conv2d and its gradients by cuDNN.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Null for an operator of another kind. `tf32` lets f32 convolutions run on the tensor cores.
MadeKernel make_convolution(const OperatorSpec& spec, DeviceStream& stream, bool tf32);

}  // namespace arbalest::cuda
