// The side branch of a recorded step. Gradients of weights run there, because nothing reads them before the step ends. A kernel on the main
// branch waits for a kernel on the side branch if one of the two writes what the other reads or writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/backend.h"

namespace arbalest::cuda {

class DeviceStream;

// The memory that a kernel reads, and the memory that it writes.
class Accesses {
 public:
  Accesses(const OperatorSpec& spec, Backend& backend);
  static Accesses reading(const void* begin, size_t bytes);
  static Accesses writing(const void* begin, size_t bytes);
  // Whether the later of the two must wait for the earlier one.
  bool conflict_with(const Accesses& other) const;

 private:
  struct Bytes {
    uintptr_t begin, end;
  };
  Accesses() = default;
  static Bytes range(const void* begin, size_t bytes);
  static bool overlap(const std::vector<Bytes>& some, const std::vector<Bytes>& others);

  std::vector<Bytes> reads_, writes_;
};

class SideBranch {
 public:
  explicit SideBranch(DeviceStream& stream) : stream_(stream) {}

  // Records: calls `work`, which queues the kernels.
  void record(const std::function<void()>& work);
  // Calls `work`, which queues a kernel of one learner, or the like kernels of several. In a recording, a kernel that `may_leave` goes to
  // the side branch. `accesses`: one for each learner, in the same order in every call; learners share no memory that they write. Null
  // means that nothing is known: the main branch waits for the whole side branch. They must live until the recording ends.
  void queue(std::span<const Accesses* const> accesses, bool may_leave, const std::function<void()>& work);
  // The main branch waits for kernels on the side branch that keep what is no kernel, such as a copy beside the stream, from its memory.
  void await(const Accesses& accesses);

 private:
  struct Queued {
    std::vector<const Accesses*> accesses;
    std::shared_ptr<Event> end;
  };

  DeviceStream& stream_;
  bool recording_ = false;
  std::vector<Queued> queued_;  // in order: the kernels on the side branch that the main branch has not waited for
};

}  // namespace arbalest::cuda
