// Calls of the CUDA runtime; their failures become our errors.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "core/error.h"

namespace arbalest::cuda {

// Throws OUT_OF_MEMORY, BACKEND_UNAVAILABLE if there is no driver or no usable device, UNSUPPORTED_OPERATOR for work that cannot be
// recorded, DEVICE_FAILED, or INTERNAL with the runtime's own message. DEVICE_FAILED is final: its cause, such as an illegal address, has
// destroyed the process's context, and no later call on this device succeeds.
void check(cudaError_t error, const char* what);
bool is_sticky(cudaError_t error);

// Throws DEVICE_FAILED if the calling thread's device has failed: the libraries do not report it so precisely.
void check_device(const char* what);

// Held while one sum is queued on several GPUs, and by calls that may wait for a GPU and its peers: allocations and releases, making a
// graph or a library's handle, the end of NCCL's communicators, loading a kernel. Such a call between two launches of a sum would wait for
// the first GPU, whose kernel waits for the launch on the second.
std::mutex& several_gpus();

// Of a kernel: its code is loaded at its first launch on a device.
class FirstLaunches {
 public:
  // Launches on the calling thread's device. Locks several_gpus() unless a launch there has returned: until then every launch may load the
  // code, and not only the one that came first.
  template <class Launch> void run(const Launch& launch) {
    std::atomic<bool>& has_run = here();
    if (has_run.load(std::memory_order_acquire)) return launch();
    const std::lock_guard lock(several_gpus());
    launch();
    has_run.store(true, std::memory_order_release);
  }

 private:
  static constexpr size_t kDevices = 64;
  std::atomic<bool>& here();
  std::array<std::atomic<bool>, kDevices> has_run_{};
};

// Sets the environment that the driver and NCCL read when they start; called before the first call of the runtime. Needs no GPU.
void prepare_environment();
// Sets how threads wait for the calling thread's device; called once for each device.
void prepare_device();

// The calling thread's work goes to this device. Does not throw, because destructors call it. If the context has failed, the next call on
// the device throws.
void use_device(int device) noexcept;

// The same while it lives. If it fails, the next call on the device throws.
class UsedDevice {
 public:
  explicit UsedDevice(int device) noexcept;
  ~UsedDevice();
  UsedDevice(const UsedDevice&) = delete;
  UsedDevice& operator=(const UsedDevice&) = delete;

 private:
  int before_ = 0;
};

// Memory of the host that the device can access.
class PinnedMemory {
 public:
  // Throws OUT_OF_MEMORY.
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace arbalest::cuda
