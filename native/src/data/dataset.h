// Samples and their targets in engine memory, once for all learners.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/huge_pages.h"
#include "core/tensor.h"

namespace arbalest {

class Backend;

struct Dataset {
  int64_t count = 0;
  Shape sample;                 // one sample's shape: (C, H, W), (T, F), (F), or (T) tokens
  Type sample_type = Type::u8;  // u8: pixels, read as 0 to 255 and divided by 255; f32: taken as they are; i32: token ids
  // count * elements_of(sample) * size_of(sample_type) bytes
  std::vector<uint8_t, OnHugePages<uint8_t>> samples;
  // Above 0: `samples` is one row of tokens. Sample i is the window that begins at token `stride` * i (token_windows.h). Its target, which
  // replaces the labels, is the window that begins one token later.
  int64_t stride = 0;
  Shape target;                 // empty: class numbers; else one target's shape
  Shape label;                  // empty: a sample has one class number; else the shape of its class numbers: (T) or (H, W)
  std::vector<int32_t> labels;  // (count, label...) where `target` is empty; of several to a sample, any may be kNoClass
  std::vector<float> targets;   // (count, target...) otherwise
  int32_t classes = 0;
  // Copies in the memories of devices, by backend. Backends make them, and guard this map.
  mutable std::map<const Backend*, std::shared_ptr<const void>> on_devices;

  // Whether it has no samples of its own: they come batch by batch.
  bool streams() const { return count == 0; }
  bool classifies() const { return target.empty(); }
  // Class numbers that are a sample's target.
  int64_t labels_of_sample() const { return elements_of(stride != 0 ? sample : label); }
  // Whether each pixel of the samples has a label: they are cropped and mirrored together.
  bool labels_move() const { return sample.size() == 3 && label == Shape{sample[1], sample[2]}; }
  int64_t tokens() const { return static_cast<int64_t>(samples.size() / size_of(Type::i32)); }
};

}  // namespace arbalest
