// Copies a few bytes of the device to the host, through pinned memory: the driver copies into other memory of the host piece by piece, and
// blocks the threads of other learners meanwhile.
#pragma once

#include <mutex>
#include <span>

#include "cuda/device/runtime.h"

namespace arbalest {
struct Reading;
}

namespace arbalest::cuda {

class Outlet {
 public:
  // Its size. Each reading takes a multiple of kAligned.
  static constexpr size_t kBytes = 8192, kAligned = 16;
  static bool holds(std::span<const Reading> readings);

  // Makes all readings, with one wait for `stream`.
  void bring(std::span<const Reading> readings, cudaStream_t stream);

 private:
  // Threads that use no stream share the device's own.
  std::mutex turn_;
  PinnedMemory memory_{kBytes};
};

}  // namespace arbalest::cuda
