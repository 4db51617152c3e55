// Snapshots: the states from which groups and replicas resume.
#include "binding/calls.h"
#include "binding/objects.h"
#include "binding/typed_arrays.h"
#include "replica/snapshot.h"

namespace arbalest {
namespace {

template <class T> Napi::Value captured(const Info& info, const T& owner) {
  auto snapshot = std::make_shared<Snapshot>(owner.snapshots(), owner.layout());
  owner.capture(*snapshot);
  return handle(info, std::move(snapshot));
}

Napi::Value capture_group(const Info& info) { return captured(info, *group_of(info)); }

Napi::Value capture_replica(const Info& info) { return captured(info, *object_of<ReplicaObject>(info, 0)); }

// { vectors: { name: numbers }, counts: { name: number } }
template <class T> Napi::Value restored(const Info& info, T& owner) {
  const Napi::Object from = js::object(info[1], "snapshot");
  const ParameterLayout& layout = owner.layout();
  Snapshot snapshot(owner.snapshots(), layout);
  const auto each = [&](const char* member, auto&& take) {
    const Napi::Object named = js::object(js::property(from, member), member);
    const Napi::Array names = named.GetPropertyNames();
    for (uint32_t i = 0; i < names.Length(); ++i) {
      const std::string name = js::string(names.Get(i), "name");
      take(name, named.Get(name));
    }
  };
  each("vectors", [&](const std::string& name, const Napi::Value& numbers) {
    snapshot.write(name, js::numbers(numbers, name.c_str(), layout.type(), layout.elements));
  });
  each("counts", [&](const std::string& name, const Napi::Value& number) { snapshot.count(name, js::integer(number, name.c_str())); });
  owner.restore(snapshot);
  return info.Env().Undefined();
}

Napi::Value restore_group(const Info& info) { return restored(info, *group_of(info)); }

Napi::Value restore_replica(const Info& info) { return restored(info, *object_of<ReplicaObject>(info, 0)); }

Napi::Value snapshot_parts(const Info& info) {
  const auto snapshot = object_of<Snapshot>(info, 0);
  Napi::Array vectors = Napi::Array::New(info.Env());
  for (const auto& [name, vector] : snapshot->vectors()) vectors.Set(vectors.Length(), name);
  Napi::Object counts = Napi::Object::New(info.Env());
  for (const auto& [name, number] : snapshot->counts()) counts.Set(name, static_cast<double>(number));
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("vectors", vectors);
  result.Set("counts", counts);
  return result;
}

Napi::Value read_snapshot(const Info& info) {
  const auto snapshot = object_of<Snapshot>(info, 0);
  const ParameterLayout& layout = snapshot->layout();
  const std::string name = js::string(info[1], "name");
  return js::new_numbers(info.Env(), layout.type(), layout.elements, [&](std::byte* canonical) { snapshot->read(name, canonical); });
}

Napi::Value write_snapshot(const Info& info) {
  const auto snapshot = object_of<Snapshot>(info, 0);
  const ParameterLayout& layout = snapshot->layout();
  const std::string name = js::string(info[1], "name");
  snapshot->write(name, js::numbers(info[2], name.c_str(), layout.type(), layout.elements));
  return info.Env().Undefined();
}

}  // namespace

void add_snapshot_calls(Napi::Object& addon) {
  add<capture_group>(addon, "captureGroup");
  add<capture_replica>(addon, "captureReplica");
  add<restore_group>(addon, "restoreGroup");
  add<restore_replica>(addon, "restoreReplica");
  add<snapshot_parts>(addon, "snapshotParts");
  add<read_snapshot>(addon, "readSnapshot");
  add<write_snapshot>(addon, "writeSnapshot");
}

}  // namespace arbalest
