#include "cuda/device/own_code.h"

#include "cuda/device/runtime.h"

namespace arbalest::cuda {
namespace {

// It stands for all kernels of the library, which are compiled for the same architectures.
__global__ void any_kernel() {}

}  // namespace

int architecture_of_own_code() {
  cudaFuncAttributes attributes{};
  const std::lock_guard lock(several_gpus());
  check(cudaFuncGetAttributes(&attributes, any_kernel), "device");
  return attributes.ptxVersion;
}

}  // namespace arbalest::cuda
