// What a handle can stand for.
#pragma once

#include <memory>
#include <utility>

#include "binding/calls.h"
#include "core/program.h"
#include "data/source.h"
#include "device/arenas.h"
#include "replica/replica.h"
#include "sync/group.h"

namespace arbalest {

struct SourceThing : Source {
  static constexpr char kKind[] = "data set";
  explicit SourceThing(Source source) : Source(std::move(source)) {}
};
struct ProgramThing : Program {
  static constexpr char kKind[] = "program";
  explicit ProgramThing(Program program) : Program(std::move(program)) {}
};
struct GroupThing {
  static constexpr char kKind[] = "group";
  std::unique_ptr<Group> group;
};
struct ArenasThing : Arenas {
  static constexpr char kKind[] = "set of arenas";
  using Arenas::Arenas;
};
struct ReplicaThing : Replica {
  static constexpr char kKind[] = "replica";
  using Replica::Replica;
};

// The group behind a handle, which lives as long as what is returned.
inline std::shared_ptr<Group> group_of(const Info& info, const Napi::Value& handle) {
  const auto found = thing<GroupThing>(info, handle);
  return {found, found->group.get()};
}

inline std::shared_ptr<Group> group_of(const Info& info) { return group_of(info, info[0]); }

}  // namespace arbalest
