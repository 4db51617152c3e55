#include "cuda/device/cudnn.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device/cublas_lt.h"
#include "cuda/device/dynamic_library.h"
#include "cuda/device/nvrtc.h"

namespace cudnn_frontend {
// The frontend's own hook: the library in which it looks up symbols.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace arbalest::cuda {
namespace {

// The first version with everything that our graphs need on Hopper and Blackwell.
constexpr size_t kOldestCudnn = 90500;

size_t open() {
  // Kept open: cuDNN's engines look for both among the loaded libraries.
  open_nvrtc();
  cublas_lt();
  static const DynamicLibrary library("cuDNN", "libcudnn.so.9", "cudnn");
  cudnn_frontend::cudnn_dlhandle = library.handle();
  const size_t version = cudnn_frontend::detail::get_backend_version();
  if (version < kOldestCudnn)
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: cuDNN is of version " + std::to_string(version) + "; it needs " +
                                           std::to_string(kOldestCudnn) + " or newer, run `npx arbalest setup --cuda`");
  return version;
}

// Idle handles, kept for later streams: cudnnDestroy waits for the whole device, which would stop its other streams and break their
// recordings.
class IdleHandles {
 public:
  // Null if the device has no idle handle.
  cudnnHandle_t take(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<cudnnHandle_t>& idle = idle_[device];
    if (idle.empty()) return nullptr;
    const cudnnHandle_t handle = idle.back();
    idle.pop_back();
    return handle;
  }
  void give_back(int device, cudnnHandle_t handle) {
    const std::lock_guard lock(mutex_);
    idle_[device].push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<cudnnHandle_t>> idle_;
};

// By the name of a status, because the frontend passes on nothing else: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED and its like.
bool is_short_of_memory(const std::string& name) { return name.find("ALLOCATION_FAILED") != std::string::npos; }

// Never destroyed: streams of other threads may end with the process.
IdleHandles& idle_handles() {
  static auto& handles = *new IdleHandles;
  return handles;
}

}  // namespace

size_t open_cudnn() {
  static const size_t version = open();
  return version;
}

CudnnHandle::CudnnHandle(cudaStream_t stream) {
  open_cudnn();
  check(cudaGetDevice(&device_), "device");
  handle_ = idle_handles().take(device_);
  if (!handle_) {
    const std::lock_guard lock(several_gpus());
    const cudnnStatus_t made = cudnn_frontend::detail::create_handle(&handle_);
    if (is_short_of_memory(cudnn_frontend::detail::get_error_string(made)))
      throw Error("OUT_OF_MEMORY", "backend cuda: the GPU has no memory left to start cuDNN");
    if (made != CUDNN_STATUS_SUCCESS)
      throw Error("BACKEND_UNAVAILABLE", std::string("backend cuda: cuDNN cannot be started on this GPU: ") +
                                             cudnn_frontend::detail::get_error_string(made) +
                                             "; is its driver new enough, and are all of cuDNN's libraries of one release?");
  }
  if (cudnn_frontend::detail::set_stream(handle_, stream) == CUDNN_STATUS_SUCCESS) return;
  idle_handles().give_back(device_, handle_);
  throw Error("INTERNAL", "backend cuda: cuDNN does not take a stream of this GPU; report this");
}

CudnnHandle::~CudnnHandle() {
  // The handle outlives its stream, which still exists.
  cudnn_frontend::detail::set_stream(handle_, nullptr);
  idle_handles().give_back(device_, handle_);
}

Error error_of(cudnn_frontend::error_object status, const std::string& what) {
  check_device(what.c_str());
  const std::string said = status.get_message();
  if (is_short_of_memory(said)) return Error("OUT_OF_MEMORY", what + ": the GPU has no memory left for cuDNN");
  return Error("UNSUPPORTED_OPERATOR", what + ": cuDNN refused it (" + said + ")");
}

void check(cudnn_frontend::error_object status, const std::string& what) {
  if (status.is_bad()) throw error_of(status, what);
}

}  // namespace arbalest::cuda
