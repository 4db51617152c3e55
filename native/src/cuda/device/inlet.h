// Bytes of the host on their way to one place on the device. They lie in pinned memory, of which there are two: the next bytes are written
// into one while the device still reads those before them from the other.
#pragma once

#include <array>
#include <memory>

#include "cuda/device/cuda_event.h"

namespace arbalest::cuda {

class DeviceBackend;

class Inlet {
 public:
  explicit Inlet(DeviceBackend& backend) : backend_(backend) {}
  // All that was queued on the stream that it was used with is done.
  ~Inlet();
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;

  // Queued on `stream`, always the same one; `from` may change when the call returns. Where the bytes lie on the device, until the next are
  // brought. Throws OUT_OF_MEMORY.
  const void* bring(const void* from, size_t bytes, cudaStream_t stream);

 private:
  struct Pinned {
    std::unique_ptr<PinnedMemory> memory;
    size_t bytes = 0;
    CudaEvent read;
  };

  DeviceBackend& backend_;
  std::array<Pinned, 2> pinned_;
  size_t turn_ = 0;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace arbalest::cuda
