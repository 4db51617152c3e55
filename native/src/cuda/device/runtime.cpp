#include "cuda/device/runtime.h"

#include <cstdlib>

namespace arbalest::cuda {
namespace {

// Not a fault of the program: the machine has no GPU that it may use, or a driver of the wrong version.
bool is_unavailable(cudaError_t error) {
  switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice: return true;
    default: return false;
  }
}

}  // namespace

std::mutex& several_gpus() {
  static std::mutex mutex;
  return mutex;
}

std::atomic<bool>& FirstLaunches::here() {
  int device = 0;
  cudaGetDevice(&device);
  return has_run_[static_cast<size_t>(device) % kDevices];
}

PinnedMemory::PinnedMemory(size_t bytes) {
  const std::lock_guard lock(several_gpus());
  const cudaError_t made = cudaHostAlloc(&data_, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
  if (made == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error("OUT_OF_MEMORY", "pinned memory: the host cannot pin " + std::to_string(bytes) +
                                     " bytes; use fewer learners, or move fewer values to the host");
  }
  check(made, "pinned memory");
}

PinnedMemory::~PinnedMemory() {
  const std::lock_guard lock(several_gpus());
  cudaFreeHost(data_);
}

void prepare_environment() {
  // The number of hardware queues that the learners' streams share.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  // Sums inside of NVSwitch have another order in every run, so that a run could not be repeated to the bit.
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  // NCCL's buffers are allocated before the learners' memory, and not at the first sum, when there may be none left.
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  // Sums of two jobs run on each GPU in the order in which they are queued, which is the same on all (several_gpus).
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
}

void prepare_device() {
  // A learner's thread that waits for its loss must not keep a core busy: there may be more learners than cores.
  check(cudaSetDeviceFlags(cudaDeviceScheduleYield), "device");
}

bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorContextIsDestroyed:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorAssert: return true;
    default: return false;
  }
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  // Report the error once: clear it, or the thread's next launch would report it again.
  cudaGetLastError();
  const std::string words = std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation)
    throw Error("OUT_OF_MEMORY", std::string(what) + ": the GPU has no more memory; use fewer learners or a smaller batch");
  if (is_unavailable(error))
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: " + words + "; it needs an NVIDIA GPU and a driver of release 580 or newer");
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction || error == cudaErrorUnsupportedPtxVersion)
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: " + words +
                                           "; it needs a GPU of compute capability 8.0 or higher: for one that is, run `npm run build:cuda "
                                           "-- --arch native`");
  if (error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread)
    throw Error("UNSUPPORTED_OPERATOR",
                std::string(what) + ": " + words + "; it cannot be part of a recorded step, ARBALEST_CUDA_GRAPHS=0 runs steps unrecorded");
  if (is_sticky(error))
    throw Error("DEVICE_FAILED", std::string(what) + ": " + words +
                                     "; the GPU refuses all further work of this process, start it again from its last checkpoint");
  throw Error("INTERNAL", std::string(what) + ": " + words + "; report this");
}

void check_device(const char* what) {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), what);
}

void use_device(int device) noexcept {
  int now = -1;
  if (cudaGetDevice(&now) != cudaSuccess || now != device) cudaSetDevice(device);
}

UsedDevice::UsedDevice(int device) noexcept {
  cudaGetDevice(&before_);
  if (before_ != device) cudaSetDevice(device);
}

UsedDevice::~UsedDevice() {
  int now = before_;
  cudaGetDevice(&now);
  if (now != before_) cudaSetDevice(before_);
}

}  // namespace arbalest::cuda
