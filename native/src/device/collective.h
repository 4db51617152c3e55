// Sums over ranks. Each rank is a device with a memory of its own, in which its vector lies: a GPU of this process or, if the collective
// spans processes, of another one. A backend whose devices have memories of their own makes collectives for them.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor.h"
#include "device/stream.h"

namespace arbalest {

// The processes that a collective spans. Any thread may use them; one turn at a time, in the same order in all processes.
class Peers {
 public:
  virtual ~Peers() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Brings as many bytes of every process to all of them, in the order of ranks, and waits for that. Throws HOST_LOST.
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  // Throws HOST_LOST where a process is lost.
  virtual void check() = 0;
  // A gather() that waits throws.
  virtual void give_up() noexcept = 0;
};

class Collective {
 public:
  // One rank's part in a sum: its vector, the place for the sum, which may be that of the vector, and the stream of its device.
  struct Place {
    const void* from = nullptr;
    void* to = nullptr;
    Stream* stream = nullptr;
  };

  // All sums that it has queued must be done or given up.
  virtual ~Collective() = default;

  // The first rank of this process, and the number of ranks in all processes.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Queues a sum of `count` elements over all ranks; `places` are those of this process's ranks. A rank has the sum when its stream has
  // come to that point, and all ranks get the same bits. All processes call this for the same sums in the same order.
  virtual void all_reduce(Type type, size_t count, std::span<const Place> places) = 0;
  // Throws the error of a sum that has failed on a rank; other ranks may be waiting for that rank.
  virtual void check() = 0;
  // Ends all queued sums, whatever their results, so that no stream waits for ever. The collective cannot be used again.
  virtual void give_up() noexcept = 0;
};

}  // namespace arbalest
