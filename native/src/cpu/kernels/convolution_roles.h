// The tensors of a convolution, whichever of its passes a request is for.
#pragma once

#include <vector>

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

using Side = std::vector<TensorSpec>;

// Null where there is none.
struct ConvolutionRoles {
  const TensorSpec *x, *w, *y;
};

using RolesOf = ConvolutionRoles (*)(const Side& inputs, const Side& outputs);

inline const TensorSpec* tensor_at(const Side& side, size_t i) { return i < side.size() ? &side[i] : nullptr; }

inline ConvolutionRoles roles_forward(const Side& inputs, const Side& outputs) {
  return {tensor_at(inputs, 0), tensor_at(inputs, 1), tensor_at(outputs, 0)};
}
inline ConvolutionRoles roles_backward_data(const Side& inputs, const Side& outputs) {
  return {tensor_at(outputs, 0), tensor_at(inputs, 1), tensor_at(inputs, 0)};
}
inline ConvolutionRoles roles_backward_weights(const Side& inputs, const Side& outputs) {
  return {tensor_at(inputs, 0), tensor_at(outputs, 0), tensor_at(inputs, 1)};
}

}  // namespace arbalest::kernels
