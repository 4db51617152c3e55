// NCCL, opened at run time.
#pragma once

#include <nccl.h>

#include "cuda/device/dynamic_library.h"

namespace arbalest::cuda {

struct Nccl {
  decltype(&ncclGetVersion) get_version;
  decltype(&ncclGetErrorString) words_of;
  decltype(&ncclGetLastError) last_words_of;
  decltype(&ncclCommInitAll) init_all;
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRankConfig) init_rank;
  decltype(&ncclCommFinalize) finalize;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) get_async_error;
  decltype(&ncclGroupStart) start_group;
  decltype(&ncclGroupEnd) end_group;
  decltype(&ncclAllReduce) all_reduce;

  Nccl();
  // Such as 22800.
  int version() const;

 private:
  DynamicLibrary library_;
};

// Opened at the first call, for the process. Throws BACKEND_UNAVAILABLE if it is missing or too old. Needs no GPU.
const Nccl& nccl();

// Throws DEVICE_FAILED with NCCL's own message; `comm` may be null.
void check(ncclResult_t result, const char* what, ncclComm_t comm = nullptr);

}  // namespace arbalest::cuda
