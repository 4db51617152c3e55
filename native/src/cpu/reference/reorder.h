// The same tensor in another element type; this backend has one layout.
#pragma once

#include "core/tensor.h"

namespace arbalest::reference {

// Both tensors have the same number of elements and plain layouts. Numbers outside of an integer type's range become its nearest number.
void reorder(const Tensor& from, const Tensor& to);

}  // namespace arbalest::reference
