#include "cpu/kernels/operator.h"

#include <cmath>
#include <map>

#include "cpu/kernels/activation.h"

namespace arbalest::kernels {
namespace {

// Made when the first file registers: the order in which files are initialised is not defined.
std::map<std::string, Operator>& table() {
  static std::map<std::string, Operator> operators;
  return operators;
}

// Without a hint: what oneDNN's convolutions of this instruction set choose for many channels.
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
  // Images come from memory in canonical order, and the first convolution takes them so.
  if (!layout) return request.kind == "load" ? std::string(kPlain) : preferred_layout(type);
  return known_layout(*layout) ? *layout : std::string(kPlain);
}

Type storage_of(const LoweringRequest& request) {
  if (request.precision == Type::f32 || request.precision == Type::bf16) return request.precision;
  throw Error("UNSUPPORTED_PRECISION", request.kind + ": precision: received neither f32 nor bf16; use the reference backend");
}

TensorSpec answered(const Port& port, const TensorSpec& offered, Type type, const std::string& layout) {
  TensorSpec spec{type, offered.shape, std::string(kPlain)};
  switch (port.role) {
    case Role::activation: break;
    case Role::canonical: break;
    case Role::parameter: spec.type = Type::f32; break;
    case Role::position: spec.type = Type::u8; break;
    case Role::label: spec.type = Type::i32; break;
    case Role::sample:
    case Role::target:
      if (offered.type == Type::i32) spec.type = Type::i32;
      break;
    case Role::count: spec.type = offered.type == Type::i32 ? Type::i32 : Type::f32; break;
  }
  if (takes_layout(port, offered.shape)) spec.layout = layout;
  return spec;
}

// The operator with a port for each tensor of the request.
Operator spelt_out(const Operator& op, const LoweringRequest& request) {
  Operator whole = op;
  const auto repeat = [](std::vector<Port>& ports, size_t count) {
    if (!ports.empty() && ports.back().repeats && ports.size() < count) ports.resize(count, Port(ports.back()));
  };
  repeat(whole.inputs, request.inputs.size());
  repeat(whole.outputs, request.outputs.size());
  return whole;
}

}  // namespace

std::string shown(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

void Shapes::refuse(const std::string& what, const std::string& received, const std::string& mend) const {
  throw Error("INVALID_PROGRAM", std::string(op_.kind) + ": " + what + ": received " + received + "; " + mend);
}

void Shapes::input_is(size_t i, const Shape& expected) const {
  if (has_input(i) && input(i) != expected) {
    refuse(std::string("shape of input ") + op_.inputs[i].name, shown(input(i)), "make it " + shown(expected));
  }
}

void Shapes::output_is(size_t i, const Shape& expected) const {
  if (has_output(i) && output(i) != expected) {
    refuse(std::string("shape of output ") + op_.outputs[i].name, shown(output(i)), "make it " + shown(expected));
  }
}

void Shapes::input_axes(size_t i, size_t axes) const {
  if (has_input(i) && input(i).size() != axes) {
    refuse(std::string("shape of input ") + op_.inputs[i].name, shown(input(i)), "give it " + std::to_string(axes) + " axes");
  }
}

void Shapes::input_axes_at_least(size_t i, size_t axes) const {
  if (has_input(i) && input(i).size() < axes) {
    refuse(std::string("shape of input ") + op_.inputs[i].name, shown(input(i)), "give it at least " + std::to_string(axes) + " axes");
  }
}

void Shapes::output_axes(size_t i, size_t axes) const {
  if (has_output(i) && output(i).size() != axes) {
    refuse(std::string("shape of output ") + op_.outputs[i].name, shown(output(i)), "give it " + std::to_string(axes) + " axes");
  }
}

int64_t Shapes::whole(const char* attribute, int64_t least, int64_t most) const {
  const double value = attributes().number(attribute);
  if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value)) {
    refuse(attribute, std::to_string(value), "give a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int64_t>(value);
}

std::array<int64_t, 2> Shapes::whole_pair(const char* attribute, int64_t least) const {
  const std::vector<double>& values = attributes().list(attribute);
  if (values.size() != 2) refuse(attribute, std::to_string(values.size()) + " numbers", "give two, for rows and columns");
  for (double value : values) {
    if (!(value >= static_cast<double>(least) && value < 0x1p31) || value != std::floor(value)) {
      refuse(attribute, std::to_string(value), "give whole numbers from " + std::to_string(least));
    }
  }
  return {static_cast<int64_t>(values[0]), static_cast<int64_t>(values[1])};
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
      answers[i] = answered(ports[i], offered[i], type, layout);
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
  if (op.scratch) answer.scratch_bytes = op.scratch(shapes);
  answer.implementation = std::string("own:") + kInstructionSet;
  return answer;
}

Registered::Registered(std::vector<Operator> operators) {
  for (Operator& op : operators) {
    const std::string kind = op.kind;
    table().emplace(kind, std::move(op));
  }
}

const Operator* find_operator(const std::string& kind) {
  const auto found = table().find(kind);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace arbalest::kernels
