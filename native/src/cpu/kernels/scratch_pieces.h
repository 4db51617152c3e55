// Scratch that is cut from one piece of memory.
#pragma once

#include <cstdint>
#include <utility>

#include "cpu/kernels/product.h"

namespace arbalest::kernels {

// Items are as large as floats.
class Pieces {
 public:
  explicit Pieces(float* memory) : next_(memory) {}
  template <class Item> Item* take(int64_t elements) {
    static_assert(sizeof(Item) == sizeof(float));
    return reinterpret_cast<Item*>(std::exchange(next_, next_ + in_registers(elements)));
  }

 private:
  float* next_;
};

}  // namespace arbalest::kernels
