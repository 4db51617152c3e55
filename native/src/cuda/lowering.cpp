#include "cuda/lowering.h"

#include <algorithm>
#include <functional>
#include <map>

#include "cuda/layouts.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/operators.h"

namespace arbalest::cuda {
namespace {

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

struct Lowering {
  std::vector<Port> inputs, outputs;
  std::vector<std::pair<int, int>> in_place = {};
  const char* implementation = "own";
  std::function<size_t(const LoweringRequest&)> scratch = nullptr;
};

template <size_t (*Bytes)(const Shape&)> size_t by_first_input(const LoweringRequest& request) { return Bytes(request.inputs.at(0).shape); }

// The second output, where it is wanted, is a bias's gradient.
size_t scratch_for_bias(const LoweringRequest& request) {
  const bool wanted = request.outputs.size() > 1 && !request.outputs[1].shape.empty();
  return wanted ? bias_scratch(request.outputs[1].shape[0]) : 0;
}

const std::map<std::string, Lowering>& table() {
  using enum Port;
  static const std::map<std::string, Lowering> lowerings{
      {"load", {{}, {image, target}}},
      {"conv2d", {{image, weights, wide}, {image}, {}, "convolution"}},
      {"conv2dBackwardData", {{image, weights}, {image}, {}, "convolution"}},
      // As cuDNN gives it, which sums in f32: what widens it reads all of a step at once.
      {"conv2dBackwardWeights", {{image, image}, {weights, wide}, {}, "convolution", scratch_for_bias}},
      {"linear", {{rows, weights, wide}, {rows}, {}, "matrix product"}},
      {"linearBackwardData", {{rows, weights}, {rows}, {}, "matrix product"}},
      {"linearBackwardWeights", {{rows, rows}, {gradient, wide}, {}, "matrix product", scratch_for_bias}},
      {"batchNorm", {{image, wide, wide, image}, {image, wide, wide}, {{0, 0}, {0, 3}}, "own", by_first_input<batch_norm_scratch>}},
      {"batchNormInference", {{image, wide, wide, wide, wide, image}, {image}, {{0, 0}, {0, 5}}}},
      {"batchNormBackward",
       {{image, wide, wide, wide, image, image, image},
        {image, wide, wide, image},
        {{0, 5}, {3, 6}},
        "own",
        by_first_input<batch_norm_scratch>}},
      {"foldStatistics", {{wide, wide, wide, wide, wide}, {wide, wide, wide}, {{0, 2}, {1, 3}, {2, 4}}}},
      {"relu", {{alike}, {alike}, {{0, 0}}}},
      {"reluBackward", {{alike, alike}, {alike}, {{0, 1}, {0, 0}}}},
      {"add", {{alike, alike}, {alike}, {{0, 0}, {0, 1}}}},
      {"multiply", {{alike, alike}, {alike}, {{0, 0}, {0, 1}}}},
      {"sigmoid", {{alike}, {alike}, {{0, 0}}}},
      {"sigmoidBackward", {{alike, alike}, {alike}, {{0, 1}, {0, 0}}}},
      {"tanh", {{alike}, {alike}, {{0, 0}}}},
      {"tanhBackward", {{alike, alike}, {alike}, {{0, 1}, {0, 0}}}},
      {"leakyRelu", {{alike}, {alike}, {{0, 0}}}},
      {"leakyReluBackward", {{alike, alike}, {alike}, {{0, 1}, {0, 0}}}},
      {"gelu", {{alike}, {alike}, {{0, 0}}}},
      {"geluBackward", {{alike, alike}, {alike}, {{0, 1}, {0, 0}}}},
      {"silu", {{alike}, {alike}, {{0, 0}}}},
      {"siluBackward", {{alike, alike}, {alike}, {{0, 1}, {0, 0}}}},
      {"dropout", {{alike}, {alike}, {{0, 0}}}},
      {"dropoutBackward", {{alike}, {alike}, {{0, 0}}}},
      {"reshape", {{own}, {own}, {{0, 0}}}},
      {"maxPool2d", {{image}, {image, image}}},
      {"maxPool2dBackward", {{image, image}, {image}}},
      {"avgPool2d", {{image}, {image}}},
      {"avgPool2dBackward", {{image}, {image}}},
      {"globalAvgPool", {{image}, {image}}},
      {"globalAvgPoolBackward", {{image}, {image}}},
      {"subsamplePad", {{image}, {image}}},
      {"subsamplePadBackward", {{image}, {image}}},
      {"softmaxCrossEntropy", {{rows, own}, {wide, rows, own, own}, {{1, 0}}, "own", by_first_input<softmax_cross_entropy_scratch>}},
      {"softmaxCrossEntropyBackward", {{rows, own}, {image}, {{0, 0}}}},
      {"meanSquaredError", {{alike, alike}, {wide}, {}, "own", by_first_input<mean_squared_error_scratch>}},
      {"meanSquaredErrorBackward", {{alike, alike}, {alike}, {{0, 0}}}},
      {"binaryCrossEntropy", {{alike, alike}, {wide, own}, {}, "own", by_first_input<binary_cross_entropy_scratch>}},
      {"binaryCrossEntropyBackward", {{alike, alike}, {alike}, {{0, 0}, {0, 1}}}},
      {"matmul", {{rows, rows}, {rows}, {}, "matrix product"}},
      {"layerNorm", {{rows, wide, wide}, {rows, wide, wide}, {{0, 0}}}},
      {"layerNormBackward",
       {{rows, wide, wide, wide, rows}, {rows, wide, wide}, {{0, 4}}, "own", by_first_input<layer_norm_backward_scratch>}},
      {"embedding", {{own, wide}, {rows}}},
      {"embeddingBackward", {{own, rows}, {wide}, {}, "own", by_first_input<embedding_backward_scratch>}},
      {"positions", {{rows, wide}, {rows}, {{0, 0}}}},
      {"positionsBackward", {{rows}, {wide}}},
      {"causalSelfAttention", {{rows}, {rows, wide}, {}, "matrix products", attention_scratch}},
      {"causalSelfAttentionBackward", {{rows, rows, wide, rows}, {rows}, {}, "matrix products", attention_backward_scratch}},
      {"concat", {{parts}, {image}}},
      {"concatBackward", {{image}, {parts}}},
      {"localResponseNorm", {{image}, {image}}},
      {"localResponseNormBackward", {{image, image}, {image}, {{0, 1}}, "own", by_first_input<local_response_norm_backward_scratch>}},
  };
  return lowerings;
}

bool is_ours(const std::string& layout) { return layout == kPlain || layout == kNhwc; }

// The layout of all `alike` tensors: the first that is offered, where it is one of ours.
std::string common_layout(const LoweringRequest& request) {
  for (const TensorSpec& input : request.inputs)
    if (!input.shape.empty() && is_ours(input.layout)) return lies_both_ways(input.shape) ? std::string(kPlain) : input.layout;
  return image_layout(request.inputs.at(0).shape);
}

TensorSpec answered(TensorSpec offered, Port port, const LoweringRequest& request, const std::string& common) {
  if (offered.shape.empty()) return offered;
  // Positions in a pooling window lie as the image that they belong to.
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

LoweringAnswer lower_operator(const LoweringRequest& request) {
  if (request.precision != Type::f32 && request.precision != Type::bf16)
    throw Error("UNSUPPORTED_PRECISION", "precision: received f64; the cuda backend computes in f32 and bf16, use the reference backend");
  if (request.kind == "reorder") return lower_reorder(request);
  const auto found = table().find(request.kind);
  if (found == table().end())
    throw Error("UNSUPPORTED_OPERATOR", "operator: received " + request.kind + "; the cuda backend has no such operator yet");
  const Lowering& lowering = found->second;
  if (!takes(lowering.inputs, request.inputs.size()) || !takes(lowering.outputs, request.outputs.size()))
    throw Error("INVALID_PROGRAM", request.kind + ": received more tensors than it has; it takes " +
                                       std::to_string(lowering.inputs.size()) + " and gives " + std::to_string(lowering.outputs.size()));
  const std::string common = request.inputs.empty() ? std::string(kPlain) : common_layout(request);
  LoweringAnswer answer;
  answer.inputs = answered(request.inputs, lowering.inputs, request, common);
  answer.outputs = answered(request.outputs, lowering.outputs, request, common);
  for (const auto& [output, input] : lowering.in_place) {
    const auto o = static_cast<size_t>(output), i = static_cast<size_t>(input);
    if (o >= answer.outputs.size() || i >= answer.inputs.size()) continue;
    if (!answer.outputs[o].shape.empty() && !answer.inputs[i].shape.empty()) answer.in_place.emplace_back(output, input);
  }
  if (lowering.scratch) answer.scratch_bytes = lowering.scratch(request);
  answer.implementation = lowering.implementation;
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
