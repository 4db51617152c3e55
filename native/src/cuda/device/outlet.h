// A few bytes of the device on their way to the host. They land in pinned memory: the driver copies into other memory of the host in pieces
// of its own, while which no other learner's thread gets a word in.
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
  // What it holds, each reading rounded up to kAligned.
  static constexpr size_t kBytes = 8192, kAligned = 16;
  static bool holds(std::span<const Reading> readings);

  // All that it holds, with one wait for `stream`.
  void bring(std::span<const Reading> readings, cudaStream_t stream);

 private:
  // Threads that name no stream share the device's own.
  std::mutex turn_;
  PinnedMemory memory_{kBytes};
};

}  // namespace arbalest::cuda
