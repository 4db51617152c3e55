// What the owner of a chunk makes of the hosts' parts, where it does more than to add them up. It is called by the level's thread as soon
// as the last part has come, a piece at a time that stays in the core's cache, and the result goes to all hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace arbalest {

class ChunkRule {
 public:
  virtual ~ChunkRule() = default;

  // The vector, laid out as the parameters are, whose chunks the owners write in this round, and the other owners' messages on this host.
  virtual std::byte* result(int64_t round) = 0;
  // Elements [begin, end) of it, of the round in progress. `sums` are the hosts' vectors over `learners` learners in all, in the order of
  // ranks; none where no host has learners.
  virtual void make(std::span<const void* const> sums, int64_t learners, size_t begin, size_t end) = 0;
};

}  // namespace arbalest
