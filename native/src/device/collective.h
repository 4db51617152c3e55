// Sums over ranks, each of which has memory of its own and a vector in it: the GPUs of this process, and beside them those of others, where
// a collective spans processes. A backend that has several devices makes one for them.
#pragma once

#include <cstddef>
#include <span>

#include "core/tensor.h"
#include "device/stream.h"

namespace arbalest {

class Collective {
 public:
  // One rank's place in a sum: where its vector lies, where the sum goes, which may be there too, and the stream of its device.
  struct Place {
    const void* from = nullptr;
    void* to = nullptr;
    Stream* stream = nullptr;
  };

  // What it has queued is done, or has been given up.
  virtual ~Collective() = default;

  // The first of this process's ranks, and how many there are in all processes.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Queues a sum of `count` elements over all ranks, given the places of this process's; the sum is there, with the same bits for every
  // rank, when each stream has come to it. All processes ask for the same sums in the same order.
  virtual void all_reduce(Type type, size_t count, std::span<const Place> places) = 0;
  // Throws what has gone wrong with what is queued. The ranks that it has not hit may be waiting for the one that it has.
  virtual void check() = 0;
  // What is queued ends as it may, so that no stream waits for it for ever. It is of no use any more.
  virtual void give_up() noexcept = 0;
};

}  // namespace arbalest
