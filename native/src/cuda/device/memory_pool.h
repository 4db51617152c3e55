// Device memory that is taken from the driver once and reused: an allocation by the driver waits for all work of the GPU.
#pragma once

#include <map>
#include <mutex>

#include "cuda/device/runtime.h"
#include "cuda/reserved_memory.h"

namespace arbalest::cuda {

class MemoryPool {
 public:
  ~MemoryPool();

  // Not zeroed; aligned to 512 bytes. If the driver has no more memory, the pool first returns its unused blocks to it. Throws
  // OUT_OF_MEMORY.
  void* take(size_t bytes);
  // All work on the memory must be done.
  void give_back(void* memory) noexcept;
  // Keeps `bytes` unused in one piece, from which take() allocates before it asks the driver. Throws OUT_OF_MEMORY.
  void reserve(size_t bytes);
  // Bytes of the pool that are not in use.
  size_t unused();

 private:
  void* from_driver(size_t bytes);
  void trim();

  std::mutex mutex_;
  ReservedMemory reserved_;
  std::multimap<size_t, void*> unused_;
  std::map<void*, size_t> used_;
};

}  // namespace arbalest::cuda
