// Kernels of a recorded step that run beside the rest: gradients of weights, which nothing reads before the step's end. A kernel that
// touches what one of them writes, or writes what one of them reads, waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/backend.h"

namespace arbalest::cuda {

class DeviceStream;

// The bytes that a kernel reads, and those that it writes.
class Touched {
 public:
  Touched(const OperatorSpec& spec, Backend& backend);
  // Whether one of the two must wait for the other.
  bool meets(const Touched& other) const;

 private:
  struct Bytes {
    uintptr_t begin, end;
  };
  static bool overlap(const std::vector<Bytes>& some, const std::vector<Bytes>& others);

  std::vector<Bytes> reads_, writes_;
};

class Beside {
 public:
  explicit Beside(DeviceStream& stream) : stream_(stream) {}

  // Calls `work`, which queues the kernels of a recording.
  void record(const std::function<void()>& work);
  // Calls `work`, which queues one kernel; `aside`: it may run beside the rest. The kernel's `touched` lives as long as the recording is
  // made.
  void queue(const Touched& touched, bool aside, const std::function<void()>& work);

 private:
  struct Queued {
    const Touched* touched;
    std::shared_ptr<Event> end;
  };

  DeviceStream& stream_;
  bool recording_ = false;
  std::vector<Queued> queued_;  // in their order, those that the stream has not waited for
};

}  // namespace arbalest::cuda
