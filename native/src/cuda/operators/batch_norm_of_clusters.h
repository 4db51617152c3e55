// Batch norm and its gradient over images of few rows, each by one launch: a cluster has some neighbouring channels, sums them block by
// block, and goes on with what its blocks have found. Two launches take longer wherever a kernel is shorter than a launch.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Null where the device has no clusters, or the image too many rows or channels that make no packs.
MadeKernel make_batch_norm_of_clusters(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_batch_norm_backward_of_clusters(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
