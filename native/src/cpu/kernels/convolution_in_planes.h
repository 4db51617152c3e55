// Which convolutions run over planes, and which of these by Winograd's transforms; and their rows of the operator table.
#pragma once

#include "cpu/kernels/convolution_roles.h"

namespace arbalest::kernels {

// Whether it is a convolution without padding, with filters that do not fill blocks and rows of outputs that fill
// pieces of registers, whose activations are in planes already, or may be.
bool runs_in_planes(const LoweringRequest& request, const ConvolutionRoles& roles);

// Whether this pass of it takes less time by Winograd's transforms.
bool runs_by_winograd(const LoweringRequest& request, const ConvolutionRoles& roles);

template <RolesOf roles_of, bool ByWinograd = false> bool takes_planes(const LoweringRequest& request, const std::string&) {
  const ConvolutionRoles roles = roles_of(request.inputs, request.outputs);
  return runs_in_planes(request, roles) && runs_by_winograd(request, roles) == ByWinograd;
}

// The rows of the operator table. Forward, x, w, b -> y; the gradient of the data, gy, w -> gx; that of the weights, x, gy -> gw, gb.
Operator planes_forward_operator(const OwnOperator& own);
Operator planes_data_operator(const OwnOperator& own);
Operator planes_weights_operator(const OwnOperator& own);

}  // namespace arbalest::kernels
