// Copies bytes of the host to one place on the device. It has two pinned buffers: the next bytes are written into one while the device
// still reads the bytes before them from the other.
#pragma once

#include <array>
#include <memory>

#include "cuda/device/cuda_event.h"

namespace arbalest::cuda {

class DeviceBackend;

class Inlet {
 public:
  explicit Inlet(DeviceBackend& backend) : backend_(backend) {}
  // All work that was queued on its stream must be done.
  ~Inlet();
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;

  // Queues the copy on `stream`, which is always the same one. `from` may change when the call returns. Returns the address on the device,
  // which is valid until the next call. Throws OUT_OF_MEMORY.
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
