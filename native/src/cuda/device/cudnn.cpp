#include "cuda/device/cudnn.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device/cublas_lt.h"
#include "cuda/device/dynamic_library.h"
#include "cuda/device/nvrtc.h"

namespace cudnn_frontend {
// The frontend's own hook: what it looks symbols up in.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace arbalest::cuda {
namespace {

// The first with all that the frontend's graphs need here for Hopper and Blackwell.
constexpr size_t kOldestCudnn = 90500;

size_t open() {
  // Kept open: cuDNN's engines look for both among what is loaded.
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

// Kept for whoever comes next: cudnnDestroy waits for the whole device, which would hold up its other streams, and break what one of them
// is recording.
class IdleHandles {
 public:
  // Null where none is idle on the device.
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

// By a status' name, which is all that the frontend hands on: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED and its like.
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
    const cudnnStatus_t made = cudnn_frontend::detail::create_handle(&handle_);
    if (is_short_of_memory(cudnn_frontend::detail::get_error_string(made)))
      throw Error("OUT_OF_MEMORY", "backend cuda: the GPU has no memory left to start cuDNN");
    if (made != CUDNN_STATUS_SUCCESS)
      throw Error("BACKEND_UNAVAILABLE", "backend cuda: cuDNN cannot be started on this GPU; its driver may be too old");
  }
  if (cudnn_frontend::detail::set_stream(handle_, stream) == CUDNN_STATUS_SUCCESS) return;
  idle_handles().give_back(device_, handle_);
  throw Error("INTERNAL", "backend cuda: cuDNN does not take a stream of this GPU; report this");
}

CudnnHandle::~CudnnHandle() {
  // It outlives its stream, which is still there.
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
