// The sample at a position of the endless sequence of epochs, and its crop, flip and cutout. All backends use this one rule, so that a
// batch is the same function of seed and position on each. Streamed batches come cropped and flipped (src/actors/feeder.ts).
#pragma once

#include <cstdint>

#include "core/attributes.h"
#include "core/random.h"

namespace arbalest {

// Whether an image is mirrored: never; with a probability of 1/2 each time it is used; or so in the first epoch and then in every other
// one, so that two epochs hold each image both ways (Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU", section 3.6).
enum class Flip { none, random, alternate };

// What lies outside of an image: zero bytes, or the image mirrored at its edge pixels, which are not repeated.
enum class Border { zeros, reflect };

struct LoadOptions {
  uint64_t count = 0;   // samples of the dataset
  int64_t padding = 0;  // pixels of the border added on each side before a crop of the image's own size; 0: no crop
  Border border = Border::zeros;
  Flip flip = Flip::none;
  int64_t cutout = 0;  // side of the square that is cut out; 0: none
  bool shuffled = false;
};

// Those of a load operator for `count` samples.
inline LoadOptions load_options(const Attributes& attributes, int64_t count) {
  LoadOptions options;
  options.count = static_cast<uint64_t>(count);
  options.padding = static_cast<int64_t>(attributes.number("padding"));
  options.border = static_cast<Border>(attributes.number("border"));
  options.flip = static_cast<Flip>(attributes.number("flip"));
  options.cutout = static_cast<int64_t>(attributes.number("cutout", 0));
  options.shuffled = attributes.number("shuffled") != 0;
  return options;
}

// Output pixel (y, x) of an image of width W is pixel (y + row, (flip ? W - 1 - x : x) + column) of sample `index`, or of its border:
// torchvision's RandomCrop(padding), then RandomHorizontalFlip, before any normalisation.
struct LoadPlan {
  uint64_t index = 0;
  int64_t row = 0, column = 0;  // each in [-padding, padding]
  bool flip = false;
  uint32_t cut_row = 0, cut_column = 0;  // of the centre of what is cut out, in parts of 2^32 of a side
};

// The sample at a position.
constexpr uint64_t sample_at(const LoadOptions& options, uint64_t seed, uint64_t position) {
  const uint64_t epoch = position / options.count, index = position % options.count;
  return options.shuffled ? permuted(seed, epoch, index, options.count) : index;
}

// How sample `index` is loaded at a position.
constexpr LoadPlan load_plan(const LoadOptions& options, uint64_t seed, uint64_t position, uint64_t index) {
  LoadPlan plan;
  plan.index = index;
  if (options.cutout > 0) {
    const Random4 centre = philox(seed, position, kCutout);
    plan.cut_row = centre[0];
    plan.cut_column = centre[1];
  }
  if (options.padding == 0 && options.flip == Flip::none) return plan;
  const Random4 r = philox(seed, position, kAugment);
  const uint64_t shifts = 2 * static_cast<uint64_t>(options.padding) + 1;
  plan.row = static_cast<int64_t>((r[0] * shifts) >> 32) - options.padding;
  plan.column = static_cast<int64_t>((r[1] * shifts) >> 32) - options.padding;
  if (options.flip == Flip::random) plan.flip = (r[2] >> 31) != 0;
  if (options.flip == Flip::alternate) {
    const uint64_t first = philox(seed, index, kFlip)[0] >> 31, epoch = position / options.count;
    plan.flip = ((first + epoch) & 1) != 0;
  }
  return plan;
}

// The pixel of the image that a border's pixel mirrors, along one side; `at` is less than `length` away from the image.
constexpr int64_t reflected(int64_t at, int64_t length) {
  if (at < 0) return -at;
  return at < length ? at : 2 * (length - 1) - at;
}

// The pixel of an image of a height and width, counted along its rows, that stands at (y, x) of the crop; -1 where it is the border's
// zeros.
constexpr int64_t source_pixel(const LoadPlan& plan, Border border, int64_t height, int64_t width, int64_t y, int64_t x) {
  int64_t row = y + plan.row, column = (plan.flip ? width - 1 - x : x) + plan.column;
  if (border == Border::reflect) {
    row = reflected(row, height);
    column = reflected(column, width);
  }
  return row >= 0 && row < height && column >= 0 && column < width ? row * width + column : -1;
}

// The pixels of an output of (height, width) that are cut out: a square with its centre in the image. They are 0 after the normalisation,
// and their labels, if pixels have some, are kNoClass: DeVries and Taylor, "Improved Regularization of Convolutional Neural Networks with
// Cutout", 2017.
struct Cut {
  int64_t top, left, side;

  constexpr Cut(const LoadOptions& options, const LoadPlan& plan, int64_t height, int64_t width)
      : top(static_cast<int64_t>((plan.cut_row * static_cast<uint64_t>(height)) >> 32) - options.cutout / 2),
        left(static_cast<int64_t>((plan.cut_column * static_cast<uint64_t>(width)) >> 32) - options.cutout / 2),
        side(options.cutout) {}

  constexpr bool has(int64_t row, int64_t column) const { return row >= top && row < top + side && column >= left && column < left + side; }
};

}  // namespace arbalest
