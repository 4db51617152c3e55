// A Program as src/compiler/program.ts defines it, checked once so that nothing behind this file needs to doubt it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/attributes.h"
#include "core/tensor.h"

namespace arbalest {

// `staged` lies in the second tier; all others are the device's.
enum class Arena : uint8_t { weights, gradients, statistics, activations, staged };
inline constexpr size_t kArenas = 5;

enum class Segment : uint8_t { load, forward, backward, exchange, update };
inline constexpr size_t kSegments = 5;

struct PlacedValue {
  std::string name;
  TensorSpec spec;
  size_t bytes = 0;
  Arena arena = Arena::activations;
  size_t offset = 0;
};

struct PlacedOperator {
  std::string kind, name, implementation;
  std::vector<int> inputs, outputs;  // value ids; -1 for an absent one
  Attributes attributes;
  size_t scratch_bytes = 0, scratch_offset = 0;
  double flops = 0;
};

struct PlacedParameter {
  std::string name;
  TensorSpec spec;
  size_t offset = 0, bytes = 0;
  size_t canonical_offset = 0;  // elements before it in the canonical vector
  bool frozen = false;          // its values never change
  size_t group = 0;             // of the optimiser, whose numbers it is stepped by
};

struct ParameterLayout {
  std::vector<PlacedParameter> parameters;
  size_t bytes = 0;
  size_t elements = 0;

  // Elements [begin, end) of the frozen parameters, rising, neighbours joined.
  std::vector<std::pair<size_t, size_t>> frozen() const;
  Type type() const { return parameters.empty() ? Type::f32 : parameters.front().spec.type; }
  // Elements of a vector with this layout, including the padding between parameters.
  size_t length() const { return bytes / size_of(type()); }
};

// Throws INVALID_PROGRAM where parameters overlap, leave the vector or are out of order.
void check_layout(const ParameterLayout& layout);

struct Program {
  std::string name, backend;
  Type precision = Type::f32;
  int64_t batch = 0;
  std::vector<PlacedValue> values;
  std::array<std::vector<PlacedOperator>, kSegments> segments;
  ParameterLayout parameters;
  std::array<size_t, kArenas> arena_bytes{};
  std::map<std::string, int> named;

  // Throws INVALID_PROGRAM where anything lies outside its arena, names a value that is not there, or has no size.
  void check() const;
};

bool same_layout(const ParameterLayout& a, const ParameterLayout& b);
// Throws INVALID_PROGRAM if the program has another parameter layout than its replica.
void check_parameters(const Program& program, const ParameterLayout& replica);

}  // namespace arbalest
