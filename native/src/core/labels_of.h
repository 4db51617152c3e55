// Which of its labels an element of a model's output is for.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace arbalest {

// Of logits (N, K), (N, T, K) or (N, K, H, W): the labels K, and the elements of one label that lie together in the canonical order.
struct LabelsOf {
  int64_t count = 1, together = 1;

  explicit LabelsOf(const Shape& logits) {
    const size_t axis = channel_axis(logits);
    if (axis >= logits.size()) return;
    count = logits[axis];
    for (size_t i = axis + 1; i < logits.size(); ++i) together *= logits[i];
  }

  // Of an element, counted within its sample.
  constexpr int64_t of(int64_t element) const { return element / together % count; }
};

}  // namespace arbalest
