// The values and vectors of a replica, read and written.
#include "binding/calls.h"
#include "binding/objects.h"
#include "binding/typed_arrays.h"

namespace arbalest {
namespace {

Napi::Value read_value(const Info& info) {
  const auto replica = object_of<ReplicaObject>(info, 0);
  const std::string name = js::string(info[2], "name");
  const TensorSpec spec = replica->value_spec(slot(info), name);
  return js::new_numbers(info.Env(), spec.type, static_cast<size_t>(elements_of(spec.shape)),
                         [&](std::byte* canonical) { replica->read_value(slot(info), name, canonical); });
}

Napi::Value write_value(const Info& info) {
  const auto replica = object_of<ReplicaObject>(info, 0);
  const std::string name = js::string(info[2], "name");
  const TensorSpec spec = replica->value_spec(slot(info), name);
  replica->write_value(slot(info), name, js::numbers(info[3], name, spec.type, static_cast<size_t>(elements_of(spec.shape))));
  return info.Env().Undefined();
}

VectorName vector_named(const Napi::Value& value) {
  const std::string name = js::string(value, "vector");
  if (name == "weights") return VectorName::weights;
  if (name == "gradients") return VectorName::gradients;
  if (name == "velocity") return VectorName::velocity;
  if (name == "firstMoment") return VectorName::first_moment;
  if (name == "secondMoment") return VectorName::second_moment;
  throw Error("UNKNOWN_NAME", "vector: received " + name + "; use one of weights, gradients, velocity, firstMoment, secondMoment");
}

Napi::Value read_vector(const Info& info) {
  const auto replica = object_of<ReplicaObject>(info, 0);
  const ParameterLayout& layout = replica->layout();
  const VectorName which = vector_named(info[1]);
  return js::new_numbers(info.Env(), layout.type(), layout.elements, [&](std::byte* canonical) { replica->read_vector(which, canonical); });
}

Napi::Value write_vector(const Info& info) {
  const auto replica = object_of<ReplicaObject>(info, 0);
  const ParameterLayout& layout = replica->layout();
  replica->write_vector(vector_named(info[1]), js::numbers(info[2], "vector", layout.type(), layout.elements));
  return info.Env().Undefined();
}

}  // namespace

void add_value_calls(Napi::Object& addon) {
  add<read_value>(addon, "readValue");
  add<write_value>(addon, "writeValue");
  add<read_vector>(addon, "readVector");
  add<write_vector>(addon, "writeVector");
}

}  // namespace arbalest
