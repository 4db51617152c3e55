#include "cudnn.h"

#include <memory>

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

}  // namespace

size_t open_cudnn() {
  static const size_t version = open();
  return version;
}

CudnnHandle::CudnnHandle(cudaStream_t stream) {
  open_cudnn();
  if (cudnn_frontend::detail::create_handle(&handle_) != CUDNN_STATUS_SUCCESS)
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: cuDNN cannot be started on this GPU; its driver may be too old");
  cudnn_frontend::detail::set_stream(handle_, stream);
}

CudnnHandle::~CudnnHandle() { cudnn_frontend::detail::destroy_handle(handle_); }

void check(cudnn_frontend::error_object status, const std::string& what) {
  if (status.is_good()) return;
  throw Error("UNSUPPORTED_OPERATOR", what + ": cuDNN refused it (" + status.get_message() + ")");
}

}  // namespace arbalest::cuda
