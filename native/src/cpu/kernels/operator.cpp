#include "cpu/kernels/operator.h"

#include "cpu/kernels/activation.h"

namespace arbalest::kernels {
namespace {

// The layout without a hint: the choice of oneDNN's convolutions of this instruction set for many channels.
std::string preferred_layout(Type type) {
  if (type == Type::bf16) return "nhwc";
  return kLanes == 16 ? "nChw16c" : "nChw8c";
}

bool takes_layout(const Port& port, const Shape& shape) {
  return (port.role == Role::activation || port.role == Role::sample || port.role == Role::position) && shape.size() == 4;
}

std::string layout_of(const Operator& op, const LoweringRequest& request, Type type) {
  const auto first = [](const std::vector<Port>& ports, const std::vector<TensorSpec>& offered) -> const std::string* {
    for (size_t i = 0; i < ports.size() && i < offered.size(); ++i) {
      if (takes_layout(ports[i], offered[i].shape) && !offered[i].layout.empty()) return &offered[i].layout;
    }
    return nullptr;
  };
  const std::string* layout = first(op.inputs, request.inputs);
  if (!layout) layout = first(op.outputs, request.outputs);
  // Images are stored in canonical order, and the first convolution reads them so.
  if (!layout) return request.kind == "load" ? std::string(kPlain) : preferred_layout(type);
  return known_layout(*layout) ? *layout : std::string(kPlain);
}

Type storage_of(const LoweringRequest& request) {
  if (request.precision == Type::f32 || request.precision == Type::bf16) return request.precision;
  throw Error("UNSUPPORTED_PRECISION", request.kind + ": precision: received neither f32 nor bf16; use the reference backend");
}

// An image of one channel is the same memory in nhwc as in the canonical layout, and gets the latter's name.
std::string name_of(const char* layout, const Shape& shape) { return shape[1] == 1 ? std::string(kPlain) : layout; }

TensorSpec answered(const Operator& op, const Port& port, const TensorSpec& offered, Type type, const std::string& layout) {
  TensorSpec spec{type, offered.shape, std::string(kPlain)};
  switch (port.role) {
    case Role::activation: break;
    case Role::canonical: break;
    case Role::parameter: spec.type = Type::f32; break;
    case Role::filters:
      spec.type = Type::f32;
      spec.layout = op.filters;
      break;
    case Role::position: spec.type = Type::u8; break;
    case Role::label: spec.type = Type::i32; break;
    case Role::sample:
    case Role::target:
      if (offered.type == Type::i32) spec.type = Type::i32;
      break;
    case Role::offered: return offered;
    case Role::count: spec.type = offered.type == Type::i32 ? Type::i32 : Type::f32; break;
  }
  if (takes_layout(port, offered.shape)) spec.layout = op.layout ? name_of(op.layout, offered.shape) : layout;
  return spec;
}

// The operator with a port for each tensor of the request.
Operator spelt_out(const Operator& op, const LoweringRequest& request) {
  Operator whole = op;
  repeat_last(whole.inputs, request.inputs.size());
  repeat_last(whole.outputs, request.outputs.size());
  return whole;
}

}  // namespace

bool takes(const Operator& op, const LoweringRequest& request) {
  // Our convolutions take neighbouring pixels.
  if (request.attributes.has("dilation")) return false;
  return !op.takes || op.takes(request, layout_of(op, request, storage_of(request)));
}

LoweringAnswer lower(const Operator& given, const LoweringRequest& request) {
  const Operator op = spelt_out(given, request);
  const Shapes shapes(op, request);
  const auto answer_side = [&](const char* side, const std::vector<Port>& ports, const std::vector<TensorSpec>& offered, Type type,
                               const std::string& layout) {
    if (offered.size() > ports.size()) {
      shapes.refuse(std::string("number of ") + side, std::to_string(offered.size()), "give at most " + std::to_string(ports.size()));
    }
    std::vector<TensorSpec> answers(offered.size());
    for (size_t i = 0; i < ports.size(); ++i) {
      const bool present = i < offered.size() && !offered[i].shape.empty();
      if (!present && !ports[i].optional) shapes.refuse(std::string(side) + " " + ports[i].name, "none", "give it");
      if (!present) continue;
      for (int64_t extent : offered[i].shape) {
        if (extent < 1) shapes.refuse(std::string("shape of ") + ports[i].name, shown(offered[i].shape), "make every extent at least 1");
      }
      answers[i] = answered(op, ports[i], offered[i], type, layout);
    }
    return answers;
  };
  const Type type = storage_of(request);
  const std::string layout = layout_of(op, request, type);
  LoweringAnswer answer;
  answer.inputs = answer_side("inputs", op.inputs, request.inputs, type, layout);
  answer.outputs = answer_side("outputs", op.outputs, request.outputs, type, layout);
  op.check(shapes);
  for (const auto& [output, input] : op.in_place) {
    if (shapes.has_output(output) && shapes.has_input(input)) answer.in_place.emplace_back(output, input);
  }
  if (op.scratch) answer.scratch_bytes = op.scratch(shapes, answer);
  answer.implementation = std::string("own:") + kInstructionSet;
  if (op.method) answer.implementation += std::string(":") + op.method;
  return answer;
}

}  // namespace arbalest::kernels
