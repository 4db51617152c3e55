// Which convolutions run over planes, for kernels that leave them alone.
#pragma once

#include "cpu/kernels/convolution_roles.h"

namespace arbalest::kernels {

// Whether it is a convolution without padding, with filters that do not fill blocks and rows of outputs that fill
// pieces of registers, whose activations are in planes already, or may be.
bool runs_in_planes(const LoweringRequest& request, const ConvolutionRoles& roles);

template <RolesOf roles_of> bool takes_planes(const LoweringRequest& request, const std::string&) {
  return runs_in_planes(request, roles_of(request.inputs, request.outputs));
}

}  // namespace arbalest::kernels
