// The memory that a group and a replica will take of a backend, and the bytes that an update moves. The objects of a run are made on a
// CountingBackend, so that the figures come from the code that allocates.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "replica/replica_memory.h"
#include "sync/group.h"

namespace arbalest {

// Bytes.
struct MemoryCount {
  std::vector<size_t> group;  // on each of its devices, or in the one memory that its devices share
  size_t contribution = 0;    // of each learner that joins
  size_t recording = 0;       // of each member besides, while rounds are recorded
  ReplicaBytes replica;
  size_t snapshot = 0;         // copies of a learner's state in a checkpoint
  size_t update = 0;           // read and written by the update of a round's last step
  size_t windows = 0;          // on each device, to the vectors of the second tier: those that all share, and of the group's own,
  size_t learner_windows = 0;  // those of each learner's,
  size_t copy_windows = 0;     // and those of the copies of the group's in a checkpoint
};

// The vectors that lie in the second tier and are not counted.
enum class CountedMove : uint8_t { none, states, all };

// Of a replica that is bound to `programs`; without a group, or as a member of one. Throws as the run itself would.
MemoryCount count_memory(Backend& backend, const std::optional<GroupSpec>& group, std::span<const Program* const> programs,
                         CountedMove move = CountedMove::none);

}  // namespace arbalest
