#include "runtime.h"

namespace arbalest::cuda {

bool is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorAssert: return true;
    default: return false;
  }
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  const std::string words = std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error("OUT_OF_MEMORY", std::string(what) + ": the GPU has no more memory; use fewer learners or a smaller batch");
  }
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorInitializationError)
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: " + words + "; it needs an NVIDIA GPU and a driver of release 580 or newer");
  if (is_sticky(error))
    throw Error("DEVICE_FAILED", std::string(what) + ": " + words +
                                     "; the GPU refuses all further work of this process, start it again from its last checkpoint");
  throw Error("INTERNAL", std::string(what) + ": " + words + "; report this");
}

}  // namespace arbalest::cuda
