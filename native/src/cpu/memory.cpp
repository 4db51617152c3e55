#include "cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "core/error.h"

namespace arbalest {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = 2 * kHugePage;

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t mapped_size(size_t bytes) {
  const size_t least = bytes == 0 ? 1 : bytes;
  return rounded_up(least, least >= kHugeFrom ? kHugePage : static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

void* map(size_t size) { return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

[[noreturn]] void throw_out_of_memory(size_t bytes) {
  throw Error("OUT_OF_MEMORY", "memory: " + std::to_string(bytes) + " bytes are not to be had; use fewer learners or a smaller batch");
}

}  // namespace

void* allocate_pages(size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw_out_of_memory(bytes);
  const size_t size = mapped_size(bytes);
  if (size < kHugeFrom) {
    void* memory = map(size);
    if (memory == MAP_FAILED) throw_out_of_memory(bytes);
    return memory;
  }
  // mmap aligns to small pages only: map one huge page more, and unmap the part outside of the aligned range.
  void* taken = map(size + kHugePage);
  if (taken == MAP_FAILED) throw_out_of_memory(bytes);
  char* const begin = static_cast<char*>(taken);
  char* const aligned = begin + (rounded_up(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin));
  const size_t before = static_cast<size_t>(aligned - begin);
  if (before != 0) munmap(begin, before);
  if (before != kHugePage) munmap(aligned + size, kHugePage - before);
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

void release_pages(void* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, mapped_size(bytes));
}

}  // namespace arbalest
