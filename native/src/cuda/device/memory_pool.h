// Device memory that is taken from the driver once and given out again: allocation by the driver waits for all that the GPU does.
#pragma once

#include <map>
#include <mutex>

#include "cuda/device/runtime.h"
#include "cuda/reserved_memory.h"

namespace arbalest::cuda {

class MemoryPool {
 public:
  ~MemoryPool();

  // Not zeroed; aligned to 512 bytes. Where the driver has no more, what the pool holds unused is given back to it first. Throws
  // OUT_OF_MEMORY.
  void* take(size_t bytes);
  // All work on it is done.
  void give_back(void* memory) noexcept;
  // So much is there unused, and takers have theirs of it before the driver is asked. Throws OUT_OF_MEMORY.
  void reserve(size_t bytes);
  // Bytes that it holds and nobody uses.
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
