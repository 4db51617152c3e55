#include "sync/group.h"

#include <algorithm>
#include <string>

#include "sync/asynchronous_group.h"
#include "sync/synchronous_group.h"
#include "transport/make_levels.h"

namespace arbalest {
namespace {

void check_rule(Backend& backend, const GroupSpec& spec) {
  if (spec.asynchronous && !backend.capabilities().asynchronous_rules)
    throw Error("INVALID_OPTION", "synchroniser: received an asynchronous rule for a GPU; use a synchronous one, or backend cpu");
  if (spec.levels.empty()) return;
  if (spec.moved.all)
    throw Error("INVALID_OPTION",
                "levels: received some for vectors that lie in the second tier, which levels cannot sum; use one device, or more memory");
  if (spec.synchronous && spec.synchronous->lockstep)
    throw Error("INVALID_OPTION",
                "levels: received some for learners in lockstep, whose corrections are summed where they are made; "
                "leave lockstep out, or use one device");
  const auto spans_hosts = [](const LevelSpec& level) { return level.kind == LevelSpec::Kind::hosts; };
  if (spec.synchronous && spec.synchronous->slack > 0 && spec.synchronous->read_my_writes && std::ranges::any_of(spec.levels, spans_hosts))
    throw Error("INVALID_OPTION", "readMyWrites: received true with slack " + std::to_string(spec.synchronous->slack) +
                                      " for several hosts, of which a checkpoint has the own updates of one host's learners alone; "
                                      "use readMyWrites false, slack 0, or one host");
  if (spec.synchronous && spec.synchronous->central == CentralRule::optimiser && needs_norms(spec.optimiser) &&
      std::ranges::any_of(spec.levels, &LevelSpec::owners_apply))
    throw Error("INVALID_OPTION",
                "ruleAt: received owners for an optimiser that needs the norm of the whole gradient, of which an owner has chunks; "
                "leave ruleAt out, or take an optimiser without clipping by norm and LARS");
  if (spec.asynchronous)
    throw Error("INVALID_OPTION",
                "levels: received some for an asynchronous rule, whose learners meet the central model one by one; "
                "use a synchronous one, or one device");
}

}  // namespace

std::unique_ptr<Group> make_group(Backend& backend, GroupSpec spec, const std::byte* initial_canonical) {
  if (spec.layout.bytes == 0) throw Error("INVALID_MODEL", "parameters: received none; a group needs a model with something to train");
  check_sizes(backend, spec.layout);
  check_levels(backend, spec.devices, spec.levels);
  check_rule(backend, spec);
  Backend& vectors = spec.moved.vectors(backend);
  if (spec.asynchronous) return std::make_unique<AsynchronousGroup>(vectors, std::move(spec), initial_canonical);
  return std::make_unique<SynchronousGroup>(vectors, std::move(spec), initial_canonical);
}

}  // namespace arbalest
