#include "core/program.h"

#include <limits>
#include <map>

#include "core/transfers.h"

namespace arbalest {
namespace {

// Far above any real tensor, and low enough that no product of two sizes overflows.
constexpr size_t kLargest = size_t{1} << 48;

[[noreturn]] void invalid(const Program& program, const std::string& message) {
  throw Error("INVALID_PROGRAM", "program " + program.name + ": " + message);
}

void check_shape(const Program& program, const std::string& name, const Shape& shape) {
  if (shape.empty() || shape.size() > 6)
    invalid(program, "value " + name + " has " + std::to_string(shape.size()) + " dimensions; use 1 to 6");
  double elements = 1;
  for (int64_t extent : shape) {
    if (extent < 1) invalid(program, "value " + name + " has an extent of " + std::to_string(extent) + "; every extent is at least 1");
    elements *= static_cast<double>(extent);
  }
  if (elements > static_cast<double>(kLargest)) invalid(program, "value " + name + " has more elements than any memory");
}

void check_range(const Program& program, const std::string& what, size_t offset, size_t bytes, size_t arena) {
  if (bytes > arena || offset > arena - bytes)
    invalid(program, what + " takes bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) + " of an arena of " +
                         std::to_string(arena));
}

void check_values(const Program& program) {
  for (const PlacedValue& value : program.values) {
    check_shape(program, value.name, value.spec.shape);
    if (value.spec.layout.empty()) invalid(program, "value " + value.name + " has no layout");
    const size_t canonical = static_cast<size_t>(elements_of(value.spec.shape)) * size_of(value.spec.type);
    if (value.bytes < canonical)
      invalid(program, "value " + value.name + " has " + std::to_string(value.bytes) + " bytes where its elements take " +
                           std::to_string(canonical));
    if (value.offset % 64 != 0)
      invalid(program, "value " + value.name + " begins at byte " + std::to_string(value.offset) + "; use a multiple of 64");
    check_range(program, "value " + value.name, value.offset, value.bytes, program.arena_bytes[static_cast<size_t>(value.arena)]);
  }
}

void check_operators(const Program& program) {
  const int count = static_cast<int>(program.values.size());
  const size_t scratch_arena = program.arena_bytes[static_cast<size_t>(Arena::activations)];
  for (const auto& segment : program.segments) {
    for (const PlacedOperator& op : segment) {
      // Any number of tensors may be reordered together.
      const size_t most = op.kind == "reorder" ? program.values.size() : 16;
      for (const auto* ids : {&op.inputs, &op.outputs}) {
        if (ids->size() > most)
          invalid(program, "operator " + op.name + " has " + std::to_string(ids->size()) + " values on one side; " + std::to_string(most) +
                               " at most");
        for (int id : *ids)
          if (id < -1 || id >= count)
            invalid(program, "operator " + op.name + " names value " + std::to_string(id) + " of " + std::to_string(count));
      }
      if (op.kind == "update" || op.kind == "exchange") {
        const bool home = &segment == &program.segments[static_cast<size_t>(op.kind == "update" ? Segment::update : Segment::exchange)];
        if (!home || segment.size() != 1) invalid(program, "operator " + op.kind + " stands alone in the segment of its name");
      } else if (&segment == &program.segments[static_cast<size_t>(Segment::update)]) {
        invalid(program, "segment update has operator " + op.kind + "; it takes the update alone");
      }
      check_range(program, "scratch of operator " + op.name, op.scratch_offset, op.scratch_bytes, scratch_arena);
      if (op.scratch_offset % 64 != 0) invalid(program, "scratch of operator " + op.name + " is not aligned to 64 bytes");
    }
  }
}

}  // namespace

void check_layout(const ParameterLayout& layout) {
  if (layout.bytes > kLargest) throw Error("INVALID_PROGRAM", "parameters: more bytes than any memory");
  if (layout.bytes % 8 != 0) throw Error("INVALID_PROGRAM", "parameters: a vector's length is a multiple of 8 bytes");
  size_t end = 0;
  std::map<size_t, size_t> canonical;  // of each parameter, by its offset: its elements
  for (const PlacedParameter& parameter : layout.parameters) {
    const auto fault = [&](const std::string& message) { throw Error("INVALID_PROGRAM", "parameter " + parameter.name + ": " + message); };
    if (parameter.spec.shape.empty() || parameter.spec.shape.size() > 6) fault("it has no shape of 1 to 6 dimensions");
    double elements = 1;
    for (int64_t extent : parameter.spec.shape) {
      if (extent < 1 || extent > (int64_t{1} << 32)) fault("an extent of " + std::to_string(extent) + " is not possible");
      elements *= static_cast<double>(extent);
    }
    if (elements > static_cast<double>(kLargest)) fault("it has more elements than any memory");
    if (parameter.spec.layout.empty()) fault("it has no layout");
    if (parameter.spec.type != Type::f32 && parameter.spec.type != Type::f64) fault("parameters are f32 or f64");
    if (parameter.spec.type != layout.parameters.front().spec.type) fault("parameters of one job have one type");
    if (!canonical.emplace(parameter.canonical_offset, static_cast<size_t>(elements_of(parameter.spec.shape))).second)
      fault("it begins where another one does in the canonical vector");
    if (parameter.offset < end || parameter.offset % 64 != 0) fault("it overlaps the parameter before it or is not aligned to 64 bytes");
    const size_t least = static_cast<size_t>(elements_of(parameter.spec.shape)) * size_of(parameter.spec.type);
    if (parameter.bytes < least || parameter.bytes > layout.bytes || parameter.offset > layout.bytes - parameter.bytes)
      fault("it does not fit into the vector of " + std::to_string(layout.bytes) + " bytes");
    end = parameter.offset + parameter.bytes;
  }
  size_t next = 0;
  for (const auto& [offset, elements] : canonical) {
    if (offset != next) throw Error("INVALID_PROGRAM", "parameters: they do not follow each other in the canonical vector");
    next += elements;
  }
  if (layout.elements != next)
    throw Error("INVALID_PROGRAM", "parameters: the canonical vector's length is not the sum of the parameters'");
}

std::vector<std::pair<size_t, size_t>> ParameterLayout::frozen() const {
  std::vector<std::pair<size_t, size_t>> spans;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].frozen) continue;
    // The bytes between two of them are padding.
    const bool follows = i > 0 && parameters[i - 1].frozen;
    const size_t begin = parameters[i].offset / size_of(type()), end = (parameters[i].offset + parameters[i].bytes) / size_of(type());
    if (follows)
      spans.back().second = end;
    else
      spans.emplace_back(begin, end);
  }
  return spans;
}

bool same_layout(const ParameterLayout& a, const ParameterLayout& b) {
  if (a.bytes != b.bytes || a.elements != b.elements || a.parameters.size() != b.parameters.size()) return false;
  for (size_t i = 0; i < a.parameters.size(); ++i) {
    const PlacedParameter &p = a.parameters[i], &q = b.parameters[i];
    if (p.offset != q.offset || p.bytes != q.bytes || p.spec.shape != q.spec.shape || p.spec.layout != q.spec.layout ||
        p.spec.type != q.spec.type || p.canonical_offset != q.canonical_offset)
      return false;
  }
  return true;
}

void check_parameters(const Program& program, const ParameterLayout& replica) {
  if (same_layout(program.parameters, replica)) return;
  throw Error("INVALID_PROGRAM",
              "program " + program.name + ": its parameter layout is not the replica's; compile it with the replica's parameters");
}

void Program::check() const {
  if (batch < 1 || batch > (int64_t{1} << 32)) invalid(*this, "a batch of " + std::to_string(batch) + " is not possible; use at least 1");
  for (size_t bytes : arena_bytes)
    if (bytes > kLargest) invalid(*this, "an arena has more bytes than any memory");
  for (Arena arena : {Arena::weights, Arena::gradients})
    if (arena_bytes[static_cast<size_t>(arena)] > parameters.bytes)
      invalid(*this, "an arena of parameters is larger than the parameter vector");
  check_layout(parameters);
  check_values(*this);
  check_operators(*this);
  check_transfers(*this);
  for (const auto& [name, id] : named)
    if (id < 0 || id >= static_cast<int>(values.size()))
      invalid(*this, "the name " + name + " stands for value " + std::to_string(id) + ", which is not there");
}

}  // namespace arbalest
