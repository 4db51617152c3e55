// The second tier of memory, behind that of a device: values of a step that no operator uses for a while are copied there, and back, while
// other operators run. For a GPU it is pinned memory of the host; for a device that computes in the machine's memory it is a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace arbalest {

// When tests let transfers run: at once, as late as possible, or at seeded random times. The place that a fetch will write is filled with
// what is no number, for nobody may read it meanwhile.
struct TransferTiming {
  enum class When { earliest, latest, random } when = When::earliest;
  uint64_t seed = 0;
};

// Where a tier lies.
struct HostTierSpec {
  // The folder of the file, for devices that compute in the machine's memory.
  std::string folder;
  // For tests: memory instead of a file.
  std::optional<TransferTiming> timing;
};

// Each transfer has a number; one of a number is under way at a time. They run in the order in which they are begun. One thread at a time
// uses a tier.
class HostTier {
 public:
  virtual ~HostTier() = default;

  // Begins to copy `bytes` to `offset` of the tier, once all work that the caller has queued is done.
  virtual void store(size_t transfer, const void* from, size_t offset, size_t bytes) = 0;
  // Begins to copy them back.
  virtual void fetch(size_t transfer, size_t offset, void* to, size_t bytes) = 0;
  // All work that is queued from now on runs after the transfer; without streams the caller waits. Throws its error.
  virtual void settle(size_t transfer) = 0;
  // Gives up the transfers that are under way. All work that is queued from now on runs when none of them uses memory any more; without
  // streams, none does when the call returns.
  virtual void abandon() noexcept = 0;
};

}  // namespace arbalest
