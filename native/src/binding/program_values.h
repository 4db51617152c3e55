// A Program from JavaScript, as src/compiler/program.ts defines it, checked.
#pragma once

#include <string>

#include "binding/values.h"
#include "core/program.h"

namespace arbalest::js {

inline PlacedParameter placed_parameter(const Napi::Value& value) {
  const Napi::Object from = object(value, "parameter");
  return {string(from, "name"),
          {type(string(from, "type")), shape(property(from, "shape"), "shape"), string(from, "layout")},
          size(from, "offset"),
          size(from, "bytes"),
          size(from, "canonical"),
          from.Has("frozen") && from.Get("frozen").ToBoolean(),
          from.Has("group") ? size(from, "group") : 0};
}

inline ParameterLayout parameter_layout(const Napi::Value& value) {
  const Napi::Object from = object(value, "parameters");
  ParameterLayout layout{list(property(from, "parameters"), "parameters", placed_parameter), size(from, "bytes"), size(from, "elements")};
  check_layout(layout);
  return layout;
}

inline Arena arena(const std::string& name) {
  if (name == "weights") return Arena::weights;
  if (name == "gradients") return Arena::gradients;
  if (name == "statistics") return Arena::statistics;
  if (name == "activations") return Arena::activations;
  if (name == "staged") return Arena::staged;
  throw Error("INVALID_PROGRAM", "arena: received " + name + "; use one of weights, gradients, statistics, activations, staged");
}

inline Segment segment(const std::string& name) {
  if (name == "load") return Segment::load;
  if (name == "forward") return Segment::forward;
  if (name == "backward") return Segment::backward;
  if (name == "exchange") return Segment::exchange;
  if (name == "update") return Segment::update;
  throw Error("INVALID_OPTION", "segment: received " + name + "; use one of load, forward, backward, exchange, update");
}

inline const char* name_of(Segment segment) {
  constexpr const char* kNames[] = {"load", "forward", "backward", "exchange", "update"};
  return kNames[static_cast<size_t>(segment)];
}

inline PlacedValue placed_value(const Napi::Value& value) {
  const Napi::Object from = object(value, "value");
  const Napi::Object placement = object(property(from, "placement"), "placement");
  return {string(from, "name"),
          {type(string(from, "type")), shape(property(from, "shape"), "shape"), string(from, "layout")},
          size(from, "bytes"),
          arena(string(placement, "arena")),
          size(placement, "offset")};
}

inline PlacedOperator placed_operator(const Napi::Value& value) {
  const Napi::Object from = object(value, "operator");
  const auto id = [](const Napi::Value& each) { return small(each, "value id"); };
  const Napi::Object scratch = object(property(from, "scratch"), "scratch");
  return {string(from, "kind"),
          string(from, "name"),
          string(from, "implementation"),
          list(property(from, "inputs"), "inputs", id),
          list(property(from, "outputs"), "outputs", id),
          attributes(property(from, "attributes")),
          size(scratch, "bytes"),
          size(scratch, "offset"),
          number(from, "flops")};
}

inline Program program(const Napi::Value& value) {
  const Napi::Object from = object(value, "program");
  Program program;
  program.name = string(from, "name");
  program.backend = string(from, "backend");
  program.precision = type(string(from, "precision"));
  program.batch = integer(from, "batch");
  program.values = list(property(from, "values"), "values", placed_value);
  const Napi::Object segments = object(property(from, "segments"), "segments");
  for (size_t s = 0; s < kSegments; ++s) {
    const char* name = name_of(static_cast<Segment>(s));
    program.segments[s] = list(property(segments, name), name, placed_operator);
  }
  program.parameters = parameter_layout(property(from, "parameters"));
  const Napi::Object arenas = object(property(from, "arenas"), "arenas");
  for (const char* name : {"weights", "gradients", "statistics", "activations", "staged"})
    program.arena_bytes[static_cast<size_t>(arena(name))] = size(arenas, name);
  const Napi::Object named = object(property(from, "named"), "named");
  const Napi::Array names = named.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string name = string(names.Get(i), "named");
    program.named[name] = small(named.Get(name), name);
  }
  program.check();
  return program;
}

}  // namespace arbalest::js
