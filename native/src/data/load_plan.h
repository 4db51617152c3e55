// The sample at a position of the endless sequence of epochs, and its crop and flip. All backends use this one rule, so that a batch is the
// same function of seed and position on each. Streamed batches come cropped and flipped (src/actors/feeder.ts).
#pragma once

#include <cstdint>

#include "core/random.h"

namespace arbalest {

struct LoadOptions {
  uint64_t count = 0;   // samples of the dataset
  int64_t padding = 0;  // zero pixels added on each side before a crop of the image's own size; 0: no crop
  bool flip = false;    // mirror each image with a probability of 1/2
  bool shuffled = false;
};

// Output pixel (y, x) of an image of width W is pixel (y + row, (flip ? W - 1 - x : x) + column) of sample `index`, and a zero byte where
// that lies outside of the image: torchvision's RandomCrop(padding), then RandomHorizontalFlip, before any normalisation.
struct LoadPlan {
  uint64_t index = 0;
  int64_t row = 0, column = 0;  // each in [-padding, padding]
  bool flip = false;
};

constexpr LoadPlan load_plan(const LoadOptions& options, uint64_t seed, uint64_t position) {
  const uint64_t epoch = position / options.count, index = position % options.count;
  LoadPlan plan;
  plan.index = options.shuffled ? permuted(seed, epoch, index, options.count) : index;
  if (options.padding == 0 && !options.flip) return plan;
  const Random4 r = philox(seed, position, kAugment);
  const uint64_t shifts = 2 * static_cast<uint64_t>(options.padding) + 1;
  plan.row = static_cast<int64_t>((r[0] * shifts) >> 32) - options.padding;
  plan.column = static_cast<int64_t>((r[1] * shifts) >> 32) - options.padding;
  plan.flip = options.flip && (r[2] >> 31) != 0;
  return plan;
}

}  // namespace arbalest
