// Which convolutions run over planes, and how; and their rows of the operator table.
#pragma once

#include "cpu/kernels/convolution_roles.h"

namespace arbalest::kernels {

// Whether it is a convolution without padding, with filters that do not fill blocks and rows of outputs that fill
// pieces of registers, whose activations are in planes already, or may be.
bool runs_in_planes(const LoweringRequest& request, const ConvolutionRoles& roles);

// How a pass of it is computed: as sums of taps, or by Winograd's transforms.
enum class Way { taps, winograd, winograd_of_images };

// The one that takes the least time.
Way way_of(const LoweringRequest& request, const ConvolutionRoles& roles);

template <RolesOf roles_of, Way way = Way::taps> bool takes_planes(const LoweringRequest& request, const std::string&) {
  const ConvolutionRoles roles = roles_of(request.inputs, request.outputs);
  return runs_in_planes(request, roles) && way_of(request, roles) == way;
}

// The rows of the operator table. Forward, x, w, b -> y; the gradient of the data, gy, w -> gx; that of the weights, x, gy -> gw, gb.
Operator planes_forward_operator(const OwnOperator& own);
Operator planes_data_operator(const OwnOperator& own);
Operator planes_weights_operator(const OwnOperator& own);

}  // namespace arbalest::kernels
