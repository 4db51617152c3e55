// cuBLASLt, opened at run time.
#pragma once

#include <cublasLt.h>

#include "cuda/device/dynamic_library.h"

namespace arbalest::cuda {

struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulDescInit_internal) init_descriptor;
  decltype(&cublasLtMatmulDescSetAttribute) set_descriptor;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristics;

  // The handle of the calling thread's device, shared by its threads and made at the first call.
  cublasLtHandle_t handle() const;

  CublasLt();

 private:
  DynamicLibrary library_;
};

// Opened at the first call, for the process. Throws BACKEND_UNAVAILABLE.
const CublasLt& cublas_lt();
// Such as 130100. Needs no GPU.
size_t cublas_lt_version();

void check(cublasStatus_t status, const char* what);

}  // namespace arbalest::cuda
