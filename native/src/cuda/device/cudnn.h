// cuDNN, opened at run time, and its handles.
#pragma once

#include <cudnn_frontend.h>

#include <string>

#include "core/error.h"
#include "cuda/device/runtime.h"

namespace arbalest::cuda {

// Opens cuDNN for the frontend, once for the process. Throws BACKEND_UNAVAILABLE. Returns its version, such as 91900.
size_t open_cudnn();

// A handle that queues on one stream of the calling thread's device.
class CudnnHandle {
 public:
  explicit CudnnHandle(cudaStream_t stream);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  int device_ = 0;
  cudnnHandle_t handle_ = nullptr;
};

// The code of a bad status: OUT_OF_MEMORY or UNSUPPORTED_OPERATOR. Throws DEVICE_FAILED if the device has failed.
Error error_of(cudnn_frontend::error_object status, const std::string& what);
void check(cudnn_frontend::error_object status, const std::string& what);

}  // namespace arbalest::cuda
