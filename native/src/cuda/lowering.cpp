#include "cuda/lowering.h"

#include <algorithm>

#include "cuda/layouts.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/tile_convolution.h"
#include "cuda/table.h"

namespace arbalest::cuda {
namespace {

// The second output, if it is present, is the gradient of a bias.
size_t scratch_for_bias(const LoweringRequest& request) {
  const bool wanted = request.outputs.size() > 1 && !request.outputs[1].shape.empty();
  return wanted ? bias_scratch(request.outputs[1].shape[0]) : 0;
}

using enum Port;
// The operators that a library computes.
const Registered kOperators{{
    {"conv2d", {image, weights, wide}, {image, wide}, nullptr, {}, nullptr, "convolution"},
    {"conv2dBackwardData", {image, weights, image, wide, image, image}, {image, wide}, nullptr, {}, nullptr, "convolution"},
    // In the type of cuDNN's output; it sums in f32. One reorder widens the gradients of all layers.
    {"conv2dBackwardWeights", {image, image}, {weights, wide}, nullptr, {}, scratch_for_bias, "convolution"},
    {"linear", {rows, weights, wide}, {rows}, nullptr, {}, nullptr, "matrix product"},
    {"linearBackwardData", {rows, weights}, {rows}, nullptr, {}, nullptr, "matrix product"},
    {"linearBackwardWeights", {rows, rows}, {gradient, wide}, nullptr, {}, scratch_for_bias, "matrix product"},
    {"matmul", {rows, rows}, {rows}, nullptr, {}, nullptr, "matrix product"},
}};

bool is_ours(const std::string& layout) { return layout == kPlain || layout == kNhwc; }

// The layout of all `alike` tensors: that of the first input, if it is one of ours.
std::string common_layout(const LoweringRequest& request) {
  for (const TensorSpec& input : request.inputs)
    if (!input.shape.empty() && is_ours(input.layout)) return lies_both_ways(input.shape) ? std::string(kPlain) : input.layout;
  return image_layout(request.inputs.at(0).shape);
}

TensorSpec answered(TensorSpec offered, Port port, const LoweringRequest& request, const std::string& common) {
  if (offered.shape.empty()) return offered;
  // Positions in pooling windows have the layout of their image.
  const bool activation = offered.type == Type::f32 || offered.type == Type::bf16;
  switch (port) {
    case Port::image:
    case Port::parts:
      if (activation) offered.type = request.precision;
      offered.layout = image_layout(offered.shape);
      break;
    case Port::rows:
      offered.type = request.precision;
      offered.layout = kPlain;
      break;
    case Port::alike:
      offered.type = request.precision;
      offered.layout = common;
      break;
    case Port::weights:
      offered.type = request.precision;
      offered.layout = weights_layout(offered.shape);
      break;
    case Port::gradient:
      offered.type = Type::f32;
      offered.layout = weights_layout(offered.shape);
      break;
    case Port::wide:
      offered.type = Type::f32;
      offered.layout = kPlain;
      break;
    case Port::own: offered.layout = kPlain; break;
    case Port::target:
      if (offered.type != Type::i32) offered.type = request.precision;
      offered.layout = offered.type == Type::i32 ? std::string(kPlain) : image_layout(offered.shape);
      break;
  }
  return offered;
}

bool is_own_convolution(const LoweringRequest& request, bool clusters) {
  const auto asked = [&](const auto& is_ours, const TensorSpec& x, const TensorSpec& w, const TensorSpec& y) {
    return is_ours(request.precision, x.shape, w.shape, y.shape, request.attributes);
  };
  const std::vector<TensorSpec>&in = request.inputs, &out = request.outputs;
  if (request.kind == "conv2d") return asked(is_tile_convolution, in.at(0), in.at(1), out.at(0));
  if (request.kind == "conv2dBackwardData") return asked(is_tile_convolution, out.at(0), in.at(1), in.at(0));
  return request.kind == "conv2dBackwardWeights" && clusters && asked(takes_weights_gradient, in.at(0), out.at(0), in.at(1));
}

bool takes(const std::vector<Port>& ports, size_t tensors) {
  return tensors <= ports.size() || (!ports.empty() && ports.back() == Port::parts);
}

std::vector<TensorSpec> answered(const std::vector<TensorSpec>& offered, const std::vector<Port>& ports, const LoweringRequest& request,
                                 const std::string& common) {
  std::vector<TensorSpec> answers;
  for (const TensorSpec& spec : offered)
    answers.push_back(answered(spec, ports[std::min(answers.size(), ports.size() - 1)], request, common));
  return answers;
}

LoweringAnswer lower_reorder(const LoweringRequest& request) {
  LoweringAnswer answer{request.inputs, request.outputs, 0, {}, "own"};
  for (auto* specs : {&answer.inputs, &answer.outputs})
    for (TensorSpec& spec : *specs)
      if (spec.layout.empty()) spec.layout = kPlain;
  return answer;
}

}  // namespace

LoweringAnswer lower_operator(const LoweringRequest& request, bool clusters) {
  if (request.precision != Type::f32 && request.precision != Type::bf16)
    throw Error("UNSUPPORTED_PRECISION", "precision: received f64; the cuda backend computes in f32 and bf16, use the reference backend");
  if (request.kind == "reorder") return lower_reorder(request);
  const Operator* found = OperatorTable<Operator>::find(request.kind);
  if (!found) throw Error("UNSUPPORTED_OPERATOR", "operator: received " + request.kind + "; the cuda backend has no such operator yet");
  const Operator& op = *found;
  if (!takes(op.inputs, request.inputs.size()) || !takes(op.outputs, request.outputs.size()))
    throw Error("INVALID_PROGRAM", request.kind + ": received more tensors than it has; it takes " + std::to_string(op.inputs.size()) +
                                       " and gives " + std::to_string(op.outputs.size()));
  const std::string common = request.inputs.empty() ? std::string(kPlain) : common_layout(request);
  LoweringAnswer answer;
  answer.implementation = op.is_own && op.is_own(request) ? "own" : op.implementation;
  answer.inputs = answered(request.inputs, op.inputs, request, common);
  answer.outputs = answered(request.outputs, op.outputs, request, common);
  if (is_own_convolution(request, clusters)) {
    answer.implementation = "own";
    // Our kernel has the gradient of its weights in f32; cuDNN's has it in the type of its images.
    if (request.kind == "conv2dBackwardWeights")
      answer.outputs[0].type = Type::f32;
    else
      answer.partial_sums =
          partial_sums_of_tile_convolution(request.kind, request.inputs.at(0).shape, request.outputs.at(0).shape, request.attributes);
  }
  for (const auto& [output, input] : op.in_place) {
    const auto o = static_cast<size_t>(output), i = static_cast<size_t>(input);
    if (o >= answer.outputs.size() || i >= answer.inputs.size()) continue;
    if (!answer.outputs[o].shape.empty() && !answer.inputs[i].shape.empty()) answer.in_place.emplace_back(output, input);
  }
  if (op.scratch) answer.scratch_bytes = op.scratch(request);
  return answer;
}

size_t bytes_of(const TensorSpec& spec) {
  if (!spec.layout.empty() && spec.layout != kPlain && spec.layout != kNhwc && spec.layout != kOhwi)
    throw Error("INVALID_PROGRAM", "layout: received " + spec.layout + "; the cuda backend has plain, nhwc and ohwi");
  if (!spec.layout.empty() && spec.layout != kPlain && spec.shape.size() != 4)
    throw Error("INVALID_PROGRAM",
                "layout: received " + spec.layout + " for " + std::to_string(spec.shape.size()) + " dimensions; it has 4");
  int64_t elements = 1;
  for (int64_t extent : spec.shape)
    if (extent < 1 || __builtin_mul_overflow(elements, extent, &elements) || elements > INT32_MAX)
      throw Error("INVALID_PROGRAM",
                  "shape: received one of no elements or of 2^31 and more; make every extent at least 1, or the batch smaller");
  return static_cast<size_t>(elements) * size_of(spec.type);
}

}  // namespace arbalest::cuda
