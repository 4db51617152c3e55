// Pinned memory of the host as the second tier of a GPU. Each direction has a stream of its own, so that copies run beside kernels; in a
// recorded step they are nodes of the graph, forked from the stream that computes and joined to it again where they are settled.
#pragma once

#include <functional>
#include <map>

#include "cuda/device/cuda_event.h"
#include "cuda/device_stream.h"
#include "device/host_tier.h"

namespace arbalest::cuda {

class PinnedTier final : public HostTier {
 public:
  // `computing`: the stream on which the calling thread computes. The device is the calling thread's. Throws OUT_OF_MEMORY.
  PinnedTier(size_t bytes, std::function<DeviceStream&()> computing);
  ~PinnedTier() override;
  PinnedTier(const PinnedTier&) = delete;
  PinnedTier& operator=(const PinnedTier&) = delete;

  void store(size_t transfer, const void* from, size_t offset, size_t bytes) override;
  void fetch(size_t transfer, size_t offset, void* to, size_t bytes) override;
  void settle(size_t transfer) override;
  void abandon() noexcept override;

 private:
  struct Events {
    CudaEvent ready, done;
  };
  void copy(size_t transfer, void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(memory_.data()) + offset; }

  const PinnedMemory memory_;
  const std::function<DeviceStream&()> computing_;
  cudaStream_t out_ = nullptr, in_ = nullptr;
  std::map<size_t, Events> events_;
  Events abandoned_;
  size_t unsettled_ = 0;
};

}  // namespace arbalest::cuda
