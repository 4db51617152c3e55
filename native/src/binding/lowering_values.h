// The compiler's question about one operator, and the backend's answer.
#pragma once

#include <string>
#include <vector>

#include "binding/values.h"
#include "device/operators.h"

namespace arbalest::js {

// {shape, type, layout: string | null} or null
inline TensorSpec offered(const Napi::Value& value) {
  if (value.IsNull()) return {};
  const Napi::Object from = object(value, "tensor");
  const Napi::Value layout = property(from, "layout");
  return {type(string(from, "type")), shape(property(from, "shape"), "shape"), layout.IsNull() ? "" : string(layout, "layout")};
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

inline Napi::Value answered(Napi::Env env, Operators& operators, const std::vector<TensorSpec>& specs) {
  Napi::Array array = Napi::Array::New(env, specs.size());
  for (uint32_t i = 0; i < specs.size(); ++i) {
    if (specs[i].shape.empty()) {
      array.Set(i, env.Null());
      continue;
    }
    Napi::Object tensor = Napi::Object::New(env);
    tensor.Set("type", name_of(specs[i].type));
    tensor.Set("layout", specs[i].layout);
    tensor.Set("bytes", static_cast<double>(operators.bytes(specs[i])));
    array.Set(i, tensor);
  }
  return array;
}

inline Napi::Value lowering_answer(Napi::Env env, Operators& operators, const LoweringAnswer& answer) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("inputs", answered(env, operators, answer.inputs));
  result.Set("outputs", answered(env, operators, answer.outputs));
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
  result.Set("partialSums", static_cast<double>(answer.partial_sums));
  return result;
}

}  // namespace arbalest::js
