// The table of all operators: how each lies in memory and how it is made ready. A file of operators/ adds its own when the library is
// loaded, so that a new operator is one file here.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device_stream.h"
#include "device/backend.h"

namespace arbalest::cuda {

using MadeKernel = std::unique_ptr<Kernel>;

// What a tensor is to its operator; its layout and element type follow.
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
  // Null where the library computes it: cuDNN and cuBLASLt on a GPU, plain loops in the stand-in.
  MadeKernel (*make)(const OperatorSpec&, DeviceStream&);
  std::vector<std::pair<int, int>> in_place = {};       // (output, input): the output may overwrite the input
  size_t (*scratch)(const LoweringRequest&) = nullptr;  // bytes beside its tensors
  const char* implementation = "own";
};

// An object of it at namespace scope adds operators to the table.
struct Registered {
  explicit Registered(std::vector<Operator> operators);
};

// Null where there is no such operator.
const Operator* find_operator(const std::string& kind);

template <size_t (*Bytes)(const Shape&)> size_t by_first_input(const LoweringRequest& request) { return Bytes(request.inputs.at(0).shape); }

}  // namespace arbalest::cuda
