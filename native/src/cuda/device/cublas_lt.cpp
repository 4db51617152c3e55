#include "cuda/device/cublas_lt.h"

#include <map>
#include <mutex>

#include "cuda/device/runtime.h"

namespace arbalest::cuda {

CublasLt::CublasLt() : library_("cuBLASLt", "libcublasLt.so.13", "cu13") {
  library_.find(create, "cublasLtCreate");
  library_.find(version, "cublasLtGetVersion");
  library_.find(matmul, "cublasLtMatmul");
  library_.find(init_descriptor, "cublasLtMatmulDescInit_internal");
  library_.find(set_descriptor, "cublasLtMatmulDescSetAttribute");
  library_.find(init_layout, "cublasLtMatrixLayoutInit_internal");
  library_.find(set_layout, "cublasLtMatrixLayoutSetAttribute");
  library_.find(init_preference, "cublasLtMatmulPreferenceInit_internal");
  library_.find(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  library_.find(heuristics, "cublasLtMatmulAlgoGetHeuristic");
}

cublasLtHandle_t CublasLt::handle() const {
  // A handle belongs to the device that is current when it is made.
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> made;
  int device = 0;
  check(cudaGetDevice(&device), "device");
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = made[device];
  if (handle) return handle;
  const std::lock_guard several(several_gpus());
  check(create(&handle), "cublasLtCreate");
  return handle;
}

size_t cublas_lt_version() { return cublas_lt().version(); }

const CublasLt& cublas_lt() {
  static const CublasLt library;
  return library;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_device(what);
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    throw Error("OUT_OF_MEMORY", std::string(what) + ": the GPU has no memory left for cuBLASLt; use fewer learners or a smaller batch");
  throw Error("INTERNAL", std::string(what) + ": cuBLASLt answered " + std::to_string(static_cast<int>(status)) + "; report this");
}

}  // namespace arbalest::cuda
