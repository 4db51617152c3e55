// From JavaScript values to the engine's structures and back. Every error names the property and the value that was received.
#pragma once

#include <napi.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/error.h"
#include "core/tensor.h"

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

// A whole number of 32 bits, such as the number of a learner, a slot or a value.
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

// The threads of one learner.
inline int threads(const Napi::Object& from) {
  const int64_t found = integer(from, "threads");
  if (found < 1 || found > 1024) throw Error("INVALID_OPTION", "threads: received " + std::to_string(found) + "; give 1 to 1024");
  return static_cast<int>(found);
}

}  // namespace arbalest::js
