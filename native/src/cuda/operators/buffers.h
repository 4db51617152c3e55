// An operator's scratch as several buffers, one behind the other. Without memory they are only counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace arbalest::cuda {

class Buffers {
 public:
  explicit Buffers(void* memory = nullptr) : begin_(reinterpret_cast<uintptr_t>(memory)) {}

  void* take(int64_t elements, size_t size) {
    const size_t at = end_;
    // The alignment of buffers in arenas.
    end_ += (static_cast<size_t>(elements) * size + 63) / 64 * 64;
    return reinterpret_cast<void*>(begin_ + at);
  }
  size_t bytes() const { return end_; }

 private:
  uintptr_t begin_;
  size_t end_ = 0;
};

}  // namespace arbalest::cuda
