#include "cuda/device/memory_pool.h"

namespace arbalest::cuda {
namespace {

constexpr size_t kGranule = 512;

size_t rounded_up(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

// A block that is more than this many times larger than needed is kept for a larger request.
constexpr size_t kMostWaste = 2;

}  // namespace

MemoryPool::~MemoryPool() { trim(); }

void* MemoryPool::take(size_t bytes) {
  const size_t wanted = rounded_up(bytes == 0 ? 1 : bytes);
  const std::lock_guard lock(mutex_);
  const auto found = unused_.lower_bound(wanted);
  if (found != unused_.end() && found->first <= kMostWaste * wanted) {
    const auto [size, memory] = *found;
    unused_.erase(found);
    used_.emplace(memory, size);
    return memory;
  }
  if (void* const piece = reserved_.take(wanted)) return piece;
  void* memory = from_driver(wanted);
  used_.emplace(memory, wanted);
  return memory;
}

void MemoryPool::give_back(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (reserved_.give_back(memory)) return;
  const auto found = used_.find(memory);
  if (found == used_.end()) return;
  unused_.emplace(found->second, memory);
  used_.erase(found);
}

void MemoryPool::reserve(size_t bytes) {
  const size_t wanted = rounded_up(bytes);
  const std::lock_guard lock(mutex_);
  if (reserved_.unused() < wanted) reserved_.add(from_driver(wanted), wanted);
}

size_t MemoryPool::unused() {
  const std::lock_guard lock(mutex_);
  size_t sum = reserved_.unused();
  for (const auto& [bytes, memory] : unused_) sum += bytes;
  return sum;
}

void* MemoryPool::from_driver(size_t bytes) {
  const auto allocated = [bytes](void*& memory) {
    const std::lock_guard lock(several_gpus());
    return cudaMalloc(&memory, bytes);
  };
  void* memory = nullptr;
  if (allocated(memory) == cudaSuccess) return memory;
  cudaGetLastError();
  trim();
  check(allocated(memory), "memory");
  return memory;
}

void MemoryPool::trim() {
  const std::lock_guard lock(several_gpus());
  for (const auto& [bytes, memory] : unused_) cudaFree(memory);
  unused_.clear();
  reserved_.release_idle([](void* memory, size_t) { cudaFree(memory); });
}

}  // namespace arbalest::cuda
