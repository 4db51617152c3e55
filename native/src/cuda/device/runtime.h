// Calls of the CUDA runtime, with their failures as our errors.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "core/error.h"

namespace arbalest::cuda {

// Throws OUT_OF_MEMORY, BACKEND_UNAVAILABLE where there is no driver or no device that can be used, UNSUPPORTED_OPERATOR for what cannot be
// recorded, DEVICE_FAILED, and else INTERNAL with the runtime's own words. DEVICE_FAILED stays: it (an illegal address, say) has poisoned
// the process's context, and nothing on this device will work again.
void check(cudaError_t error, const char* what);
bool is_sticky(cudaError_t error);

// Throws DEVICE_FAILED where the calling thread's device has failed: libraries only say then that something is wrong.
void check_device(const char* what);

// What the driver reads when it starts: before the first call of the runtime, whoever makes it. Needs no GPU.
void prepare_environment();
// How a thread waits for the calling thread's device: said to each device.
void prepare_device();

// The calling thread's work goes to this device. Never throws, for it stands in destructors, and every call of a context that has failed
// tells of that failure: what comes next says so.
void use_device(int device) noexcept;

// For as long as it lives. Where that fails, what it was wanted for says so.
class UsedDevice {
 public:
  explicit UsedDevice(int device) noexcept;
  ~UsedDevice();
  UsedDevice(const UsedDevice&) = delete;
  UsedDevice& operator=(const UsedDevice&) = delete;

 private:
  int before_ = 0;
};

// After a kernel's launch.
inline void check_launch() { check(cudaGetLastError(), "launch of a kernel"); }

// Memory of the host that the device can reach, for as long as it lives.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t bytes) { check(cudaHostAlloc(&data_, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "pinned memory"); }
  ~PinnedMemory() { cudaFreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace arbalest::cuda
