// Numbers that pass between JavaScript and the engine, as typed arrays.
#pragma once

#include <napi.h>
#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <vector>

#include "binding/values.h"
#include "core/error.h"
#include "core/tensor.h"

namespace arbalest::js {

// The bytes of a typed array, which must have this type and `count` numbers.
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
  // Does not ask for its ArrayBuffer: memory that is shared between threads has none.
  void* data = nullptr;
  if (napi_get_typedarray_info(value.Env(), value, nullptr, nullptr, &data, nullptr, nullptr) != napi_ok) wrong(what, "a typed array");
  return static_cast<const std::byte*>(data);
}

// Whether this process can still map so many bytes.
inline bool fits(size_t bytes) {
  void* const trial = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED) return false;
  munmap(trial, bytes);
  return true;
}

// Where V8 finds no memory it first collects garbage, for which it needs addresses itself (spaces to copy to, an arena of the allocator for
// each thread that helps); where there are none of these either, it ends the process.
constexpr size_t kRoomToCollect = size_t{256} << 20;

// Arrays below are not tried first: V8 takes their like all the time.
constexpr size_t kLargeArray = size_t{1} << 20;

// Made by JavaScript's own constructor: napi_create_arraybuffer ends the process where there is no memory. Throws OUT_OF_MEMORY.
inline Napi::ArrayBuffer new_buffer(Napi::Env env, size_t bytes) {
  const auto refusal = [&](const std::string& why) {
    return Error("OUT_OF_MEMORY", "memory: there is none for an array of " + std::to_string(bytes) + " bytes (" + why +
                                      "); use fewer learners or a smaller batch, or raise the limit (ulimit -v)");
  };
  if (bytes >= kLargeArray && !fits(bytes) && !fits(kRoomToCollect)) throw refusal("too few addresses are left");
  try {
    const auto constructor = env.Global().Get("ArrayBuffer").As<Napi::Function>();
    return constructor.New({Napi::Number::New(env, static_cast<double>(bytes))}).As<Napi::ArrayBuffer>();
  } catch (const Napi::Error& error) {
    throw refusal(error.Message());
  }
}

// A new typed array of the type, filled by `fill(bytes)`. Throws OUT_OF_MEMORY.
template <class Fill> Napi::Value new_numbers(Napi::Env env, Type type, size_t count, Fill fill) {
  Napi::ArrayBuffer buffer = new_buffer(env, count * size_of(type));
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
