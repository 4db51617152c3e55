// A fuzzer's bytes as the engine's structures: any bytes are some structure, and a byte stands for each thing of it where that is enough,
// so that a changed byte is a changed field. test/fuzz/native/encode.ts writes what this reads.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/program.h"
#include "replica/optimiser.h"

namespace arbalest::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  // 0 behind the end.
  uint8_t byte() { return empty() ? 0 : *at_++; }
  size_t below(size_t count) { return byte() % count; }

  // A byte for -8 to 239; above, so many bytes of a 64-bit number follow, the last of them with its sign.
  int64_t number() {
    const uint8_t first = byte();
    if (first < 248) return int64_t{first} - 8;
    uint64_t value = 0;
    const int bytes = first - 247;
    for (int i = 0; i < bytes; ++i) value |= uint64_t{byte()} << (8 * i);
    const int unused = 64 - 8 * bytes;
    return static_cast<int64_t>(value << unused) >> unused;
  }

  // As JavaScript has it: exact up to 2^53.
  int64_t integer() {
    constexpr int64_t kMost = 9007199254740991;
    const int64_t found = number();
    return found > kMost || found < -kMost ? found % kMost : found;
  }
  size_t natural() {
    const int64_t found = integer();
    return found < 0 ? static_cast<size_t>(-found) : static_cast<size_t>(found);
  }

  double real() {
    if (below(2) == 0) return static_cast<double>(number());
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= uint64_t{byte()} << (8 * i);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  std::string word() {
    static constexpr const char* kWords[] = {
#include "words.inc"
    };
    return kWords[below(std::size(kWords))];
  }

  Type type() { return static_cast<Type>(below(5)); }

  TensorSpec spec() {
    TensorSpec spec{type(), Shape(below(8)), ""};
    for (int64_t& extent : spec.shape) extent = integer();
    spec.layout = word();
    return spec;
  }

  Attributes attributes() {
    Attributes attributes;
    for (size_t left = below(16); left > 0; --left) {
      const std::string name = word();
      std::vector<double> values(below(8));
      for (double& value : values) value = real();
      attributes.set(name, std::move(values));
    }
    return attributes;
  }

  ParameterLayout layout() {
    ParameterLayout layout;
    for (size_t left = below(32); left > 0; --left) {
      PlacedParameter parameter;
      parameter.name = "parameter";
      parameter.spec = spec();
      parameter.offset = natural();
      parameter.bytes = natural();
      parameter.canonical_offset = natural();
      parameter.frozen = below(2) != 0;
      layout.parameters.push_back(std::move(parameter));
    }
    layout.bytes = natural();
    layout.elements = natural();
    return layout;
  }

  Program program() {
    Program program;
    program.name = "fuzzed";
    program.backend = "reference";
    program.precision = type();
    program.batch = integer();
    for (size_t left = byte(); left > 0; --left) {
      PlacedValue value;
      value.name = word();
      value.spec = spec();
      value.bytes = natural();
      value.arena = static_cast<Arena>(below(kArenas));
      value.offset = natural();
      program.values.push_back(std::move(value));
    }
    for (auto& segment : program.segments)
      for (size_t left = below(64); left > 0; --left) segment.push_back(placed_operator());
    program.parameters = layout();
    for (size_t& bytes : program.arena_bytes) bytes = natural();
    for (size_t left = below(16); left > 0; --left) {
      const std::string name = word();
      program.named[name] = static_cast<int>(number());
    }
    return program;
  }

 private:
  PlacedOperator placed_operator() {
    PlacedOperator op;
    op.kind = word();
    op.name = op.kind;
    for (auto* ids : {&op.inputs, &op.outputs}) {
      ids->resize(below(20));
      for (int& id : *ids) id = static_cast<int>(number());
    }
    op.attributes = attributes();
    op.scratch_bytes = natural();
    op.scratch_offset = natural();
    return op;
  }

  const uint8_t* at_;
  const uint8_t* const end_;
};

}  // namespace arbalest::fuzz
