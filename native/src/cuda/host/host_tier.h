// The stand-in's second tier: memory beyond the device's, and a thread that copies like the copy streams of a GPU. Its addresses are known
// to nobody else, as kernels cannot be given pinned memory by mistake.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "cuda/device_backend.h"
#include "device/transfer_queue.h"

namespace arbalest::cuda {

class HostStream;

class StreamedTier final : public HostTier {
 public:
  // `computing`: the stream on which the calling thread computes.
  StreamedTier(DeviceBackend& backend, size_t bytes, const std::optional<TransferTiming>& timing, std::function<HostStream&()> computing)
      : backend_(backend), copies_(std::make_shared<TransferQueue>(memory_storage(bytes), timing)), computing_(std::move(computing)) {}

  void store(size_t transfer, const void* from, size_t offset, size_t bytes) override;
  void fetch(size_t transfer, size_t offset, void* to, size_t bytes) override;
  void settle(size_t transfer) override;
  void abandon() noexcept override;

 private:
  DeviceBackend& backend_;
  const std::shared_ptr<TransferQueue> copies_;  // shared with work that is queued
  const std::function<HostStream&()> computing_;
};

}  // namespace arbalest::cuda
