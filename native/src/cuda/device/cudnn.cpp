#include "cudnn.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cublas_lt.h"
#include "dynamic_library.h"
#include "nvrtc.h"

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
  if (!handle_ && cudnn_frontend::detail::create_handle(&handle_) != CUDNN_STATUS_SUCCESS)
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: cuDNN cannot be started on this GPU; its driver may be too old");
  cudnn_frontend::detail::set_stream(handle_, stream);
}

CudnnHandle::~CudnnHandle() { idle_handles().give_back(device_, handle_); }

void check(cudnn_frontend::error_object status, const std::string& what) {
  if (status.is_good()) return;
  throw Error("UNSUPPORTED_OPERATOR", what + ": cuDNN refused it (" + status.get_message() + ")");
}

}  // namespace arbalest::cuda
