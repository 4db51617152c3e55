// Our own operators by name.
#pragma once

#include "cuda/operators/operators.h"

namespace arbalest::cuda {

// Null where the operator is the library's.
MadeKernel make_own(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
