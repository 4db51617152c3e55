// Numbers that a device hands to the host in the middle of its work, so that nobody has to wait for the work behind them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arbalest {

class Posting {
 public:
  // Readings of a posting; each is of 4 or 8 bytes.
  static constexpr size_t kMost = 2;

  virtual ~Posting() = default;
  // Queues a post. In a recording: each of its runs posts once.
  virtual void queue() = 0;
  // Waits for this post, of which the first one has the number 1, and makes the readings. The next one may not be queued before. Throws the
  // errors of the calling thread's stream.
  virtual void await(uint64_t number) = 0;
};

}  // namespace arbalest
