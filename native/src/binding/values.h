// From JavaScript values to the engine's structures and back. Every fault names the property and what was found in it.
#pragma once

#include <napi.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../backend.h"
#include "../program.h"

namespace arbalest::js {

[[noreturn]] inline void wrong(const std::string& what, const std::string& needed) {
  throw Error("INVALID_PROGRAM", what + ": it is missing or of the wrong kind; give " + needed);
}

inline Napi::Value property(const Napi::Object& object, const char* name) { return object.Get(name); }

inline Napi::Object object(const Napi::Value& value, const std::string& what) {
  if (!value.IsObject()) wrong(what, "an object");
  return value.As<Napi::Object>();
}

inline double number(const Napi::Value& value, const std::string& what) {
  if (!value.IsNumber()) wrong(what, "a number");
  return value.As<Napi::Number>().DoubleValue();
}

inline double number(const Napi::Object& from, const char* name) { return number(property(from, name), name); }

// A whole number that JavaScript holds exactly.
inline int64_t integer(const Napi::Value& value, const std::string& what) {
  const double found = number(value, what);
  if (!(std::abs(found) <= 9007199254740991.0) || found != std::floor(found))
    throw Error("INVALID_PROGRAM", what + ": received " + std::to_string(found) + "; give a whole number");
  return static_cast<int64_t>(found);
}

inline int64_t integer(const Napi::Object& from, const char* name) { return integer(property(from, name), name); }

// A whole number that is kept in 32 bits: a learner, a slot, a value.
inline int small(const Napi::Value& value, const std::string& what) {
  const int64_t found = integer(value, what);
  if (found < std::numeric_limits<int>::min() || found > std::numeric_limits<int>::max())
    throw Error("INVALID_PROGRAM", what + ": received " + std::to_string(found) + "; give a number of at most 31 bits");
  return static_cast<int>(found);
}

inline size_t natural(const Napi::Value& value, const std::string& what) {
  const int64_t found = integer(value, what);
  if (found < 0) throw Error("INVALID_PROGRAM", what + ": received " + std::to_string(found) + "; give 0 or more");
  return static_cast<size_t>(found);
}

inline size_t size(const Napi::Object& from, const char* name) { return natural(property(from, name), name); }

inline std::string string(const Napi::Value& value, const std::string& what) {
  if (!value.IsString()) wrong(what, "a string");
  return value.As<Napi::String>().Utf8Value();
}

inline std::string string(const Napi::Object& from, const char* name) { return string(property(from, name), name); }

template <class Convert> auto list(const Napi::Value& value, const std::string& what, Convert convert) {
  if (!value.IsArray()) wrong(what, "an array");
  const auto array = value.As<Napi::Array>();
  const uint32_t length = array.Length();
  if (length > 10'000'000) wrong(what, "fewer than ten million entries");
  std::vector<decltype(convert(Napi::Value()))> result;
  result.reserve(length);
  for (uint32_t i = 0; i < length; ++i) result.push_back(convert(array.Get(i)));
  return result;
}

inline Type type(const std::string& name) {
  if (name == "f32") return Type::f32;
  if (name == "f64") return Type::f64;
  if (name == "bf16") return Type::bf16;
  if (name == "i32") return Type::i32;
  if (name == "u8") return Type::u8;
  throw Error("INVALID_PROGRAM", "type: received " + name + "; use one of f32, f64, bf16, i32, u8");
}

inline const char* name_of(Type type) {
  switch (type) {
    case Type::f32: return "f32";
    case Type::f64: return "f64";
    case Type::bf16: return "bf16";
    case Type::i32: return "i32";
    case Type::u8: return "u8";
  }
  return "";
}

inline Shape shape(const Napi::Value& value, const std::string& what) {
  return list(value, what, [&](const Napi::Value& extent) { return integer(extent, what); });
}

// Numbers and lists of numbers by name.
inline Attributes attributes(const Napi::Value& value) {
  Attributes result;
  const Napi::Object from = object(value, "attributes");
  const Napi::Array names = from.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string name = string(names.Get(i), "attributes");
    const Napi::Value found = from.Get(name);
    if (found.IsArray())
      result.set(name, list(found, name, [&](const Napi::Value& each) { return number(each, name); }));
    else
      result.set(name, {number(found, name)});
  }
  return result;
}

// {shape, type, layout: string | null} or null
inline TensorSpec offered(const Napi::Value& value) {
  if (value.IsNull()) return {};
  const Napi::Object from = object(value, "tensor");
  const Napi::Value layout = property(from, "layout");
  return {type(string(from, "type")), shape(property(from, "shape"), "shape"), layout.IsNull() ? "" : string(layout, "layout")};
}

// Of one learner.
inline int threads(const Napi::Object& from) {
  const int64_t found = integer(from, "threads");
  if (found < 1 || found > 1024) throw Error("INVALID_OPTION", "threads: received " + std::to_string(found) + "; give 1 to 1024");
  return static_cast<int>(found);
}

inline LoweringRequest lowering_request(const Napi::Value& value) {
  const Napi::Object from = object(value, "request");
  return {string(from, "kind"),
          attributes(property(from, "attributes")),
          list(property(from, "inputs"), "inputs", offered),
          list(property(from, "outputs"), "outputs", offered),
          type(string(from, "precision")),
          from.Has("threads") ? threads(from) : 1};
}

inline Napi::Value answered(Napi::Env env, Backend& backend, const std::vector<TensorSpec>& specs) {
  Napi::Array array = Napi::Array::New(env, specs.size());
  for (uint32_t i = 0; i < specs.size(); ++i) {
    if (specs[i].shape.empty()) {
      array.Set(i, env.Null());
      continue;
    }
    Napi::Object tensor = Napi::Object::New(env);
    tensor.Set("type", name_of(specs[i].type));
    tensor.Set("layout", specs[i].layout);
    tensor.Set("bytes", static_cast<double>(backend.bytes(specs[i])));
    array.Set(i, tensor);
  }
  return array;
}

inline Napi::Value lowering_answer(Napi::Env env, Backend& backend, const LoweringAnswer& answer) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("inputs", answered(env, backend, answer.inputs));
  result.Set("outputs", answered(env, backend, answer.outputs));
  result.Set("scratchBytes", static_cast<double>(answer.scratch_bytes));
  Napi::Array pairs = Napi::Array::New(env, answer.in_place.size());
  for (uint32_t i = 0; i < answer.in_place.size(); ++i) {
    Napi::Array pair = Napi::Array::New(env, 2);
    pair.Set(0u, answer.in_place[i].first);
    pair.Set(1u, answer.in_place[i].second);
    pairs.Set(i, pair);
  }
  result.Set("inPlace", pairs);
  result.Set("implementation", answer.implementation);
  return result;
}

inline PlacedParameter placed_parameter(const Napi::Value& value) {
  const Napi::Object from = object(value, "parameter");
  return {string(from, "name"),    {type(string(from, "type")), shape(property(from, "shape"), "shape"), string(from, "layout")},
          size(from, "offset"),    size(from, "bytes"),
          size(from, "canonical"), from.Has("frozen") && from.Get("frozen").ToBoolean()};
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
  throw Error("INVALID_PROGRAM", "arena: received " + name + "; use one of weights, gradients, statistics, activations");
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
  for (const char* name : {"weights", "gradients", "statistics", "activations"})
    program.arenas[static_cast<size_t>(arena(name))] = size(arenas, name);
  const Napi::Object named = object(property(from, "named"), "named");
  const Napi::Array names = named.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const std::string name = string(names.Get(i), "named");
    program.named[name] = small(named.Get(name), name);
  }
  program.check();
  return program;
}

// The bytes of a typed array, which must be of the type and hold so many numbers.
inline const std::byte* numbers(const Napi::Value& value, const std::string& what, Type type, size_t count) {
  if (!value.IsTypedArray()) wrong(what, "a typed array");
  const auto array = value.As<Napi::TypedArray>();
  const napi_typedarray_type needed = type == Type::f32   ? napi_float32_array
                                      : type == Type::f64 ? napi_float64_array
                                      : type == Type::i32 ? napi_int32_array
                                                          : napi_uint8_array;
  if (array.TypedArrayType() != needed)
    throw Error("SHAPE_MISMATCH", what + ": received an array of another type of number; give " + name_of(type));
  if (array.ElementLength() != count)
    throw Error("SHAPE_MISMATCH", what + ": received " + std::to_string(array.ElementLength()) + " numbers; give " + std::to_string(count));
  // Not by way of its ArrayBuffer: there is none where the memory is shared between threads.
  void* data = nullptr;
  if (napi_get_typedarray_info(value.Env(), value, nullptr, nullptr, &data, nullptr, nullptr) != napi_ok) wrong(what, "a typed array");
  return static_cast<const std::byte*>(data);
}

// A new typed array of the type, filled by `fill(bytes)`.
template <class Fill> Napi::Value new_numbers(Napi::Env env, Type type, size_t count, Fill fill) {
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, count * size_of(type));
  fill(static_cast<std::byte*>(buffer.Data()));
  switch (type) {
    case Type::f32: return Napi::Float32Array::New(env, count, buffer, 0);
    case Type::f64: return Napi::Float64Array::New(env, count, buffer, 0);
    case Type::i32: return Napi::Int32Array::New(env, count, buffer, 0);
    default: return Napi::Uint8Array::New(env, count, buffer, 0);
  }
}

inline Napi::Array array(Napi::Env env, const std::vector<int>& values) {
  Napi::Array result = Napi::Array::New(env, values.size());
  for (uint32_t i = 0; i < values.size(); ++i) result.Set(i, values[i]);
  return result;
}

}  // namespace arbalest::js
