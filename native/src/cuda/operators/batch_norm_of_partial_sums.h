// Batch norm and its gradient over images whose convolutions have given partial sums (partial_sums.h), each by one launch: every block adds
// them up, and goes on with some of the rows.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Null where there are no such sums. Throws INVALID_PROGRAM for sums of another shape.
MadeKernel make_batch_norm_of_partial_sums(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_batch_norm_backward_of_partial_sums(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
