#include "cuda/device/nccl_collective.h"

#include <vector>

#include "cuda/device/cuda_stream.h"
#include "cuda/device/nccl.h"
#include "cuda/device/runtime.h"
#include "cuda/device_backend.h"

namespace arbalest::cuda {
namespace {

ncclDataType_t type_of(Type type) {
  if (type == Type::f32) return ncclFloat32;
  throw Error("UNSUPPORTED_OPERATOR", "collective: received elements of another type than f32; the device's vectors have no other");
}

// One thread has all ranks of this process and makes the calls of all of them in one group. Sums are never recorded: a recorded step that
// waits for other GPUs could not be told from one that hangs.
class NcclCollective final : public Collective {
 public:
  explicit NcclCollective(int devices) : ranks_(static_cast<size_t>(devices)) {
    const UsedDevice used(0);
    cuda::check(nccl().init_all(ranks_.data(), devices, nullptr), "devices");
  }
  ~NcclCollective() override { close(nccl().destroy); }

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  void all_reduce(Type type, size_t count, std::span<const Place> places) override {
    const ncclDataType_t elements = type_of(type);
    if (is_closed_) throw Error("DEVICE_FAILED", "devices: their sums have been given up; start again from the last checkpoint");
    cuda::check(nccl().start_group(), "devices");
    ncclResult_t queued = ncclSuccess;
    for (size_t rank = 0; rank < ranks_.size() && queued == ncclSuccess; ++rank) {
      const Place& place = places[rank];
      const cudaStream_t stream = handle_of(static_cast<DeviceStream&>(*place.stream));
      queued = nccl().all_reduce(place.from, place.to, count, elements, ncclSum, ranks_[rank], stream);
    }
    // Always close the group, or the next one would be a part of it.
    const ncclResult_t ended = nccl().end_group();
    cuda::check(queued, "devices");
    cuda::check(ended, "devices");
  }

  void check() override {
    if (is_closed_) return;
    for (const ncclComm_t rank : ranks_) {
      ncclResult_t state = ncclSuccess;
      cuda::check(nccl().get_async_error(rank, &state), "devices", rank);
      cuda::check(state, "devices", rank);
    }
  }
  void give_up() noexcept override { close(nccl().abort); }

 private:
  // In one group, because the end of one rank may wait for the ends of the others.
  void close(ncclResult_t (*end)(ncclComm_t)) noexcept {
    if (is_closed_) return;
    is_closed_ = true;
    nccl().start_group();
    for (const ncclComm_t rank : ranks_) end(rank);
    nccl().end_group();
  }

  std::vector<ncclComm_t> ranks_;
  bool is_closed_ = false;
};

}  // namespace

std::unique_ptr<Collective> nccl_collective(int devices) { return std::make_unique<NcclCollective>(devices); }

}  // namespace arbalest::cuda
