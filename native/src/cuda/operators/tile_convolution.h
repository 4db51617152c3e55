// Convolutions of 3 x 3 over small images of few channels, in bfloat16: what small batches consist of on ResNets for CIFAR. cuDNN's kernels
// for them fill their tiles by a half and read an image once for each tap; ours have an image's rows in shared memory for all nine.
#pragma once

#include "cuda/table.h"

namespace arbalest::cuda {

// Whether the kernels here take a convolution of these tensors, and the gradient of x.
bool is_tile_convolution(Type precision, const Shape& x, const Shape& w, const Shape& y, const Attributes& attributes);

// The same of the gradient of w, which needs clusters. With many tiles its few blocks would take them one after another while most of the
// GPU waits.
bool takes_weights_gradient(Type precision, const Shape& x, const Shape& w, const Shape& y, const Attributes& attributes);

// Whether it is one of theirs, by the type of its gradient, for which lowering has asked.
bool is_tile_weights_gradient(const OperatorSpec& spec);

// Into how many tiles the kernel of one of these, from an image x to an image y, divides y for partial sums (partial_sums.h); 0: it gives
// none.
int64_t partial_sums_of_tile_convolution(std::string_view kind, const Shape& x, const Shape& y, const Attributes& attributes);

// Null if they do not take it.
MadeKernel make_tile_convolution(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_tile_weights_gradient(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
