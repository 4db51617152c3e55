// Samples and their targets in engine memory, once for all learners.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor.h"

namespace arbalest {

struct Dataset {
  int64_t count = 0;
  Shape sample;                  // one sample's shape: (C, H, W) or (F)
  Type sample_type = Type::u8;   // u8: pixels, read as 0 to 255 and divided by 255; f32: taken as they are
  std::vector<uint8_t> samples;  // count * elements_of(sample) * size_of(sample_type) bytes
  Shape target;                  // empty: class numbers; else one target's shape
  std::vector<int32_t> labels;   // (count) where `target` is empty
  std::vector<float> targets;    // (count, target...) otherwise
  int32_t classes = 0;

  bool classifies() const { return target.empty(); }
};

}  // namespace arbalest
