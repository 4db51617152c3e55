// A number of samples, the second result of a loss.
#pragma once

#include "core/everywhere.h"
#include "core/tensor.h"

namespace arbalest::cuda {

// As f32 or i32 or not at all.
struct Count {
  int32_t* whole;
  float* wide;

  explicit Count(const Tensor& tensor)
      : whole(tensor.spec.type == Type::i32 ? tensor.as<int32_t>() : nullptr),
        wide(tensor.spec.type == Type::i32 ? nullptr : tensor.as<float>()) {}
  EVERYWHERE void store(int count) const {
    if (whole) *whole = count;
    if (wide) *wide = static_cast<float>(count);
  }
};

}  // namespace arbalest::cuda
