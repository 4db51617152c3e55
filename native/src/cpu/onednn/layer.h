// Convolutions and linear layers, forward and both backward passes, as oneDNN takes them: one table of roles serves all six kinds.
#pragma once

#include <array>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "cpu/onednn/onednn_compat.h"
#include "device/backend.h"

namespace arbalest {

enum class Pass { forward, backward_data, backward_weights };

// The role of a tensor in a layer; a gradient has the role of its tensor.
enum Role { kX, kW, kB, kY };
inline constexpr int kRoles = 4;

// The place of a role among an operator's inputs or outputs; index -1: the pass does not use it.
struct Position {
  bool output = false;
  int index = -1;
};

struct Layer {
  Pass pass = Pass::forward;
  bool convolution = false;
  bool relu = false;
  int64_t groups = 1;
  onednn::ConvolutionGeometry geometry;
  // By role: (N,C,H,W), (O,C/groups,KH,KW), (O), (N,O,OH,OW), or (N,F), (O,F), (O), (N,O),
  // N all axes but the last. An absent bias has an empty shape.
  std::array<TensorSpec, kRoles> tensors;
};

bool is_layer(const std::string& kind);

Position position_of(Pass pass, Role role);
// oneDNN's name of the argument in that role.
int argument_of(Pass pass, Role role);

// The layer of an operator, with consistent shapes and the element types of its computation. Throws INVALID_PROGRAM.
Layer layer_of(const std::string& kind, const Attributes& attributes, const std::vector<TensorSpec>& inputs,
               const std::vector<TensorSpec>& outputs, Type precision);

// The primitive for the layouts named in `layer`; oneDNN chooses those that are open. Throws dnnl::error if oneDNN has none.
dnnl::primitive_desc describe(const Layer& layer, const dnnl::engine& engine);

}  // namespace arbalest
