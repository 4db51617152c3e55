#include "cuda/device/nccl.h"

#include <string>

namespace arbalest::cuda {
namespace {

// The first version for CUDA 13.
constexpr int kOldestNccl = 22700;

}  // namespace

Nccl::Nccl() : library_("NCCL", "libnccl.so.2", "nccl") {
  library_.find(get_version, "ncclGetVersion");
  library_.find(words_of, "ncclGetErrorString");
  library_.find(last_words_of, "ncclGetLastError");
  library_.find(init_all, "ncclCommInitAll");
  library_.find(get_unique_id, "ncclGetUniqueId");
  library_.find(init_rank, "ncclCommInitRankConfig");
  library_.find(finalize, "ncclCommFinalize");
  library_.find(destroy, "ncclCommDestroy");
  library_.find(abort, "ncclCommAbort");
  library_.find(get_async_error, "ncclCommGetAsyncError");
  library_.find(start_group, "ncclGroupStart");
  library_.find(end_group, "ncclGroupEnd");
  library_.find(all_reduce, "ncclAllReduce");
  if (version() < kOldestNccl)
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: NCCL is of version " + std::to_string(version()) + "; several GPUs need " +
                                           std::to_string(kOldestNccl) + " or newer, run `npx arbalest setup --cuda`");
}

int Nccl::version() const {
  int version = 0;
  get_version(&version);
  return version;
}

const Nccl& nccl() {
  static const Nccl library;
  return library;
}

void check(ncclResult_t result, const char* what, ncclComm_t comm) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* const more = comm ? nccl().last_words_of(comm) : nullptr;
  throw Error("DEVICE_FAILED", std::string(what) + ": NCCL answered " + nccl().words_of(result) +
                                   (more && *more ? std::string(" (") + more + ")" : std::string()) +
                                   "; train on one GPU, or start again from the last checkpoint");
}

}  // namespace arbalest::cuda
