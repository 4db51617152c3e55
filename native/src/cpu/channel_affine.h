// The shapes of what multiplies each channel of an image by a number and adds another, for the reference and the fast kernels: x (N, C, H,
// W) and numbers (C) or (C, 1, 1), of which either may be absent.
#pragma once

#include "cpu/shape_checks.h"

namespace arbalest {

inline bool is_number_a_channel(const Shape& numbers, int64_t channels) {
  return numbers == Shape{channels} || numbers == Shape{channels, 1, 1};
}

// Inputs x, scale, shift; output y.
template <class Use> void check_channel_affine(const Use& use) {
  use.input_rank(0, 4);
  const int64_t channels = use.input(0)[1];
  if (!use.has_input(1) && !use.has_input(2)) use.refuse("inputs scale and shift", "none", "give at least one of them");
  for (size_t i : {1, 2})
    if (use.has_input(i) && !is_number_a_channel(use.input(i), channels)) use.input_is(i, {channels});
  use.output_is(0, use.input(0));
}

// Inputs x, scale, gy; outputs gx, gscale, gshift.
template <class Use> void check_channel_affine_gradient(const Use& use) {
  use.input_rank(2, 4);
  const Shape& gy = use.input(2);
  use.input_is(0, gy);
  if (use.has_input(1) && !is_number_a_channel(use.input(1), gy[1])) use.input_is(1, {gy[1]});
  if (use.has_output(1) && !use.has_input(0)) use.refuse("input x", "none", "give it: the gradient of the scale is a sum of gy * x");
  use.output_is(0, gy);
  for (size_t i : {1, 2})
    if (use.has_output(i) && !is_number_a_channel(use.output(i), gy[1])) use.output_is(i, {gy[1]});
}

}  // namespace arbalest
