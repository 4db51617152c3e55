// The same tensor in another element type; this backend has one layout.
#pragma once

#include "core/tensor.h"

namespace arbalest::reference {

// Shapes must have as many elements, layouts must be plain; numbers beyond an integer type's range become its nearest.
void reorder(const Tensor& from, const Tensor& to);

}  // namespace arbalest::reference
