// A tier whose copies are made by a thread of its own, one after another.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/condition_variable.h"
#include "device/host_tier.h"

namespace arbalest {

// Bytes outside of a device's memory. One thread at a time uses them.
class TierStorage {
 public:
  virtual ~TierStorage() = default;
  // Both throw if the storage fails.
  virtual void write(size_t offset, const std::byte* from, size_t bytes) = 0;
  virtual void read(size_t offset, std::byte* to, size_t bytes) = 0;
};

// Memory, for tests. Throws OUT_OF_MEMORY.
std::unique_ptr<TierStorage> memory_storage(size_t bytes);

class TransferQueue final : public HostTier {
 public:
  explicit TransferQueue(std::unique_ptr<TierStorage> storage, std::optional<TransferTiming> timing = std::nullopt);
  ~TransferQueue() override;
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  void store(size_t transfer, const void* from, size_t offset, size_t bytes) override;
  void fetch(size_t transfer, size_t offset, void* to, size_t bytes) override;
  void settle(size_t transfer) override;
  void abandon() noexcept override;

 private:
  struct Transfer {
    size_t number = 0, offset = 0, bytes = 0;
    std::byte* memory = nullptr;
    bool stores = false;
    bool waits = false;  // until it is settled
  };

  void begin(Transfer transfer);
  void work();
  void copy(const Transfer& transfer);
  bool delayed();

  const std::unique_ptr<TierStorage> storage_;
  const std::optional<TransferTiming> timing_;
  std::mt19937_64 chance_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Transfer> queue_;  // in order of arrival; the first one may be under way
  std::vector<size_t> unsettled_;
  std::exception_ptr failure_;  // of the first transfer that failed since the last abandon()
  bool busy_ = false, abandons_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace arbalest
