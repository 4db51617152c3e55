// The native objects that a handle can stand for.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "binding/calls.h"
#include "core/program.h"
#include "data/source.h"
#include "device/activation_arenas.h"
#include "device/device_lease.h"
#include "replica/replica.h"
#include "sync/group.h"
#include "transport/lease_messages.h"

namespace arbalest {

struct SourceObject : Source {
  static constexpr char kKind[] = "data set";
  explicit SourceObject(Source source) : Source(std::move(source)) {}
};
struct ProgramObject : Program {
  static constexpr char kKind[] = "program";
  explicit ProgramObject(Program program) : Program(std::move(program)) {}
};
struct GroupObject {
  static constexpr char kKind[] = "group";
  std::unique_ptr<Group> group;
};
struct ArenasObject : ActivationArenas {
  static constexpr char kKind[] = "set of arenas";
  using ActivationArenas::ActivationArenas;
};
struct MemoryWatchObject {
  static constexpr char kKind[] = "memory watch";
  std::vector<std::unique_ptr<AllocationWatch>> devices;
};
struct MovedVectorsObject {
  static constexpr char kKind[] = "set of moved vectors";
  std::shared_ptr<StagedVectors> vectors;
};
struct LeaseObject : DeviceLease {
  static constexpr char kKind[] = "device lease";
  using DeviceLease::DeviceLease;

  std::unique_ptr<LeaseMessages> hosts;  // null where its jobs are on this host alone
};
struct ReplicaObject : Replica {
  static constexpr char kKind[] = "replica";
  using Replica::Replica;
};

// The group behind a handle; it lives as long as the result.
inline std::shared_ptr<Group> group_of(const Info& info, const Napi::Value& handle) {
  const auto found = object_of<GroupObject>(info, handle);
  return {found, found->group.get()};
}

inline std::shared_ptr<Group> group_of(const Info& info) { return group_of(info, info[0]); }

// { vectors, all } from JavaScript, or nothing: the vectors of a group or a replica that lie in the second tier of its device.
inline MovedVectors moved_vectors(const Info& info, const Napi::Value& value) {
  if (value.IsUndefined()) return {};
  const Napi::Object from = js::object(value, "moved");
  const Napi::Value all = js::property(from, "all");
  if (!all.IsBoolean()) js::wrong("all", "true or false");
  return {object_of<MovedVectorsObject>(info, js::property(from, "vectors"), "vectors")->vectors, all.As<Napi::Boolean>().Value()};
}

}  // namespace arbalest
