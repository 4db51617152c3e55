#include "cuda/device/nccl_collective.h"

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "cuda/device/cuda_stream.h"
#include "cuda/device/nccl.h"
#include "cuda/device/runtime.h"
#include "cuda/device_backend.h"
#include "cuda/environment.h"

namespace arbalest::cuda {
namespace {

ncclDataType_t type_of(Type type) {
  if (type == Type::f32) return ncclFloat32;
  throw Error("UNSUPPORTED_OPERATOR", "collective: received elements of another type than f32; the device's vectors have no other");
}

// One thread has all ranks of this process and makes the calls of all of them in one group. Sums are never recorded: a recorded step that
// waits for other GPUs could not be told from one that hangs.
class NcclCollective : public Collective {
 public:
  explicit NcclCollective(int devices) : ranks_(static_cast<size_t>(devices)) {}

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  void all_reduce(Type type, size_t count, std::span<const Place> places) override {
    const ncclDataType_t elements = type_of(type);
    if (is_closed_) throw Error("DEVICE_FAILED", "devices: their sums have been given up; start again from the last checkpoint");
    const std::lock_guard lock(several_gpus());
    together([&](size_t rank) {
      const Place& place = places[rank];
      const cudaStream_t stream = handle_of(static_cast<DeviceStream&>(*place.stream));
      return nccl().all_reduce(place.from, place.to, count, elements, ncclSum, ranks_[rank], stream);
    });
    settle();
  }

  void check() override {
    if (is_closed_) return;
    for (const ncclComm_t rank : ranks_) {
      ncclResult_t state = ncclSuccess;
      if (!rank) continue;
      cuda::check(nccl().get_async_error(rank, &state), "devices", rank);
      cuda::check(state, "devices", rank);
    }
  }
  // Without the lock: who holds it may wait for a GPU that waits for this sum.
  void give_up() noexcept override { close(nccl().abort); }

 protected:
  // A call for each rank, in one group.
  template <class Call> void together(const Call& call) {
    cuda::check(nccl().start_group(), "devices");
    ncclResult_t queued = ncclSuccess;
    for (size_t rank = 0; rank < ranks_.size() && (queued == ncclSuccess || queued == ncclInProgress); ++rank) queued = call(rank);
    // Always close the group, or the next one would be a part of it.
    const ncclResult_t ended = nccl().end_group();
    cuda::check(queued, "devices");
    cuda::check(ended, "devices");
  }

  // After the last sum. NCCL's memory is released, which waits for the sums of other jobs on these GPUs.
  void destroy() noexcept {
    const std::lock_guard lock(several_gpus());
    close(nccl().destroy);
  }

  // In one group, because the end of one rank may wait for the ends of the others.
  void close(ncclResult_t (*end)(ncclComm_t)) noexcept {
    if (is_closed_) return;
    is_closed_ = true;
    nccl().start_group();
    for (const ncclComm_t rank : ranks_)
      if (rank) end(rank);
    nccl().end_group();
  }

  bool is_closed() const { return is_closed_; }

  // Waits until NCCL's calls are done, where they return before; what they have queued on the streams is not.
  virtual void settle() {}

  std::vector<ncclComm_t> ranks_;

 private:
  bool is_closed_ = false;
};

class OwnGpus final : public NcclCollective {
 public:
  explicit OwnGpus(int devices) : NcclCollective(devices) {
    const UsedDevice used(0);
    const std::lock_guard lock(several_gpus());
    cuda::check(nccl().init_all(ranks_.data(), devices, nullptr), "devices");
  }
  ~OwnGpus() override { destroy(); }
};

// The GPUs of all processes. The ranks do not block: NCCL's calls return at once, and each is waited for here, where the loss of a process
// is noticed.
class GpusOfAll final : public NcclCollective {
 public:
  // Only opens NCCL: the processes meet in the first sum.
  GpusOfAll(int devices, std::shared_ptr<Peers> peers) : NcclCollective(devices), peers_(std::move(peers)) { nccl(); }
  ~GpusOfAll() override { finish() ? destroy() : close(nccl().abort); }

  int rank() const override { return peers_->rank() * NcclCollective::size(); }
  int size() const override { return peers_->size() * NcclCollective::size(); }

  void all_reduce(Type type, size_t count, std::span<const Place> places) override {
    if (!has_met_) meet();
    NcclCollective::all_reduce(type, count, places);
  }
  void give_up() noexcept override {
    peers_->give_up();
    NcclCollective::give_up();
  }

 private:
  void meet() {
    check_gpus_differ();
    ncclUniqueId id{};
    if (peers_->rank() == 0) cuda::check(nccl().get_unique_id(&id), "hosts");
    std::vector<ncclUniqueId> ids(static_cast<size_t>(peers_->size()));
    peers_->gather(std::as_bytes(std::span(&id, 1)), std::as_writable_bytes(std::span(ids)));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    together([&](size_t device) {
      const UsedDevice used(static_cast<int>(device));
      return nccl().init_rank(&ranks_[device], size(), ids.front(), rank() + static_cast<int>(device), &config);
    });
    settle();
    has_met_ = true;
  }

  // Every process finds the same.
  void check_gpus_differ() {
    std::vector<cudaUUID_t> own, all(static_cast<size_t>(size()));
    for (int device = 0; device < NcclCollective::size(); ++device) {
      cudaDeviceProp properties{};
      cuda::check(cudaGetDeviceProperties(&properties, device), "device");
      own.push_back(properties.uuid);
    }
    peers_->gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
    for (size_t rank = 0; rank < all.size(); ++rank)
      for (size_t before = 0; before < rank; ++before)
        if (std::memcmp(&all[before], &all[rank], sizeof(cudaUUID_t)) == 0)
          throw Error("INVALID_OPTION", "devices: hosts " + std::to_string(before / own.size()) + " and " +
                                            std::to_string(rank / own.size()) +
                                            " use the same GPU; give each process of a machine GPUs of its own, by CUDA_VISIBLE_DEVICES");
  }

  // Sends what other processes still wait for: a rank may have its sum before it has passed on all of it. False where they are lost, or do
  // not come.
  bool finish() noexcept {
    if (!has_met_ || is_closed()) return false;
    try {
      together([&](size_t device) { return nccl().finalize(ranks_[device]); });
      settle_until(Clock::now() + kPatience);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  void settle() override { settle_until(Clock::time_point::max()); }

  void settle_until(Clock::time_point latest) {
    for (const ncclComm_t rank : ranks_) {
      ncclResult_t state = ncclInProgress;
      while (cuda::check(nccl().get_async_error(rank, &state), "hosts", rank), state == ncclInProgress) {
        peers_->check();
        if (Clock::now() > latest) throw Error("HOST_LOST", "hosts: one of them does not end its sums");
        std::this_thread::sleep_for(kPause);
      }
      cuda::check(state, "hosts", rank);
    }
  }

  static constexpr std::chrono::microseconds kPause{20};
  // At the end of a job.
  static constexpr std::chrono::seconds kPatience{5};
  const std::shared_ptr<Peers> peers_;
  bool has_met_ = false;
};

}  // namespace

std::unique_ptr<Collective> nccl_collective(int devices, std::shared_ptr<Peers> peers) {
  if (devices > 1 && is_set("CUDA_LAUNCH_BLOCKING", "1"))
    throw Error("INVALID_OPTION", "CUDA_LAUNCH_BLOCKING: received 1, with " + std::to_string(devices) +
                                      " GPUs: a sum on the first one would wait for that on the second, which is not queued yet; unset it");
  if (peers) return std::make_unique<GpusOfAll>(devices, std::move(peers));
  return std::make_unique<OwnGpus>(devices);
}

}  // namespace arbalest::cuda
