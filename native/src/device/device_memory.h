// The memory of one device: how it is allocated, and how bytes are moved within it and to the memory of the process.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "device/allocation_meter.h"
#include "device/host_tier.h"

namespace arbalest {

// `bytes` of the device's memory, to be copied to the caller's memory.
struct Reading {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
};

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // Zeroed memory, aligned to at least 64 bytes. Pages of the machine's memory are taken when they are first touched. Throws
  // OUT_OF_MEMORY.
  void* allocate(size_t bytes) {
    void* const memory = take(bytes);
    meter_.add(bytes);
    return memory;
  }
  // All work that was queued on the memory must be done.
  void release(void* memory, size_t bytes) noexcept {
    give_back(memory, bytes);
    if (memory) meter_.remove(bytes);
  }
  // Counts what is allocated and not yet released.
  AllocationMeter& meter() { return meter_; }
  const AllocationMeter& meter() const { return meter_; }
  // Takes `bytes` in one piece from the driver. Later calls of allocate() use it first: the driver's own allocations may stop all work of
  // the device. Does nothing where the machine's memory is used. Throws OUT_OF_MEMORY.
  virtual void reserve(size_t bytes) = 0;
  // Bytes that may still be allocated, reserved ones included. None where the machine's memory is used.
  virtual std::optional<size_t> free_memory() = 0;

  // Both places are in the device's memory.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* to, size_t bytes) = 0;
  // From the device's memory to the caller's, and back. They run after all work queued so far, and are done when the call returns.
  virtual void read(void* to, const void* from, size_t bytes) = 0;
  virtual void write(void* to, const void* from, size_t bytes) = 0;
  // Several short reads with a single wait.
  virtual void read_together(std::span<const Reading> readings) = 0;
  // Whether copy() takes addresses of that memory, too.
  virtual bool reaches(const DeviceMemory& other) const { return this == &other; }
  // What keeps this object alive as long as something is allocated here; null for one that lives as long as the process.
  virtual std::shared_ptr<void> holder() { return nullptr; }
  // Memory of the host beside the device's own, whose transfers run on streams of their own. Only for devices with a memory of their own.
  virtual std::unique_ptr<HostTier> host_tier(size_t bytes, const std::optional<TransferTiming>& timing) = 0;

 protected:
  // What allocate() and release() promise.
  virtual void* take(size_t bytes) = 0;
  virtual void give_back(void* memory, size_t bytes) noexcept = 0;

 private:
  AllocationMeter meter_;
};

}  // namespace arbalest
