#include "sync/group.h"

#include "sync/asynchronous_group.h"
#include "sync/synchronous_group.h"
#include "transport/levels.h"

namespace arbalest {

std::unique_ptr<Group> make_group(Backend& backend, GroupSpec spec, const std::byte* initial_canonical) {
  // They read and write what others read and write at the same time, by their own threads.
  if (spec.asynchronous && backend.stream())
    throw Error("INVALID_OPTION", "synchroniser: received an asynchronous rule for a GPU; use a synchronous one, or backend cpu");
  if (spec.layout.bytes == 0) throw Error("INVALID_MODEL", "parameters: received none; a group needs a model with something to train");
  check_sizes(backend, spec.layout);
  check_levels(backend, spec);
  if (spec.asynchronous) return std::make_unique<AsynchronousGroup>(backend, std::move(spec), initial_canonical);
  return std::make_unique<SynchronousGroup>(backend, std::move(spec), initial_canonical);
}

}  // namespace arbalest
