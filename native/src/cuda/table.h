// An operator of this library: how its tensors lie in memory, and the function that makes its kernel. Each family has a file of operators/,
// which adds its operators to the table.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device_stream.h"
#include "device/backend.h"
#include "device/operator_table.h"

namespace arbalest::cuda {

using MadeKernel = std::unique_ptr<Kernel>;

// The role of a tensor in its operator, from which its layout and element type follow.
enum class Port {
  image,     // an activation; channels last where it has pixels
  rows,      // an activation in canonical order
  alike,     // an activation that lies as the operator's first one
  weights,   // of a convolution or a matrix product: in the program's precision, channels last
  gradient,  // of a matrix product's weights: f32
  wide,      // f32
  own,       // of the element type that is offered, canonical
  target,    // class numbers, or an activation
  parts,     // images, as many as there are: the last of its side
};

struct Operator {
  std::string kind;
  std::vector<Port> inputs, outputs;
  // Null if a library computes it: cuDNN or cuBLASLt on a GPU, plain loops in the stand-in.
  MadeKernel (*make)(const OperatorSpec&, DeviceStream&);
  std::vector<std::pair<int, int>> in_place = {};       // (output, input): the output may overwrite the input
  size_t (*scratch)(const LoweringRequest&) = nullptr;  // bytes beside its tensors
  const char* implementation = "own";
  // Whether a kernel of ours takes this one all the same; null where none does.
  bool (*is_own)(const LoweringRequest&) = nullptr;
};

using Registered = OperatorTable<Operator>::Registered;

template <size_t (*Bytes)(const Shape&)> size_t by_first_input(const LoweringRequest& request) { return Bytes(request.inputs.at(0).shape); }

}  // namespace arbalest::cuda
