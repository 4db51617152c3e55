// Big, lazily touched memory from the operating system.
#pragma once

#include <cstddef>
#include <memory>

namespace arbalest {

// Zeroed and aligned to a page; 4 MiB and more to 2 MiB, in huge pages if the system has them. Throws OUT_OF_MEMORY.
void* allocate_pages(size_t bytes);
void release_pages(void* memory, size_t bytes) noexcept;

struct PageRelease {
  size_t bytes = 0;
  void operator()(void* memory) const noexcept { release_pages(memory, bytes); }
};
using Pages = std::unique_ptr<void, PageRelease>;

}  // namespace arbalest
