// An operator's optional output that counts samples: a whole number, or a float as losses are.
#pragma once

#include "cpu/kernels/operator.h"

namespace arbalest::kernels {

class Count {
 public:
  Count(const OperatorSpec& spec, size_t i) {
    if (i < spec.outputs.size() && spec.outputs[i].spec.type == Type::i32)
      whole_ = output<int32_t>(spec, i);
    else
      float_ = output<float>(spec, i);
  }

  void set(int64_t count) const {
    if (whole_) *whole_ = static_cast<int32_t>(count);
    if (float_) *float_ = static_cast<float>(count);
  }

 private:
  int32_t* whole_ = nullptr;
  float* float_ = nullptr;
};

}  // namespace arbalest::kernels
