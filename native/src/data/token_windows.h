// The first token of a sample, which is stored separately or is a window of one long row. All backends use this one rule.
#pragma once

#include <algorithm>

#include "core/random.h"
#include "data/dataset.h"

namespace arbalest {

// The number of tokens before sample `index` of a data set of tokens. In a shuffled epoch all windows move by the same number of tokens. It
// is less than a stride and changes with the epoch: if windows do not overlap, each epoch cuts the text at other places.
inline int64_t first_token(const Dataset& data, bool shuffled, uint64_t seed, uint64_t epoch, uint64_t index) {
  const int64_t length = elements_of(data.sample);
  if (data.stride == 0) return static_cast<int64_t>(index) * length;
  // The last window ends before the last token, which is the target of its last position.
  const int64_t spare = data.tokens() - 1 - length - (data.count - 1) * data.stride;
  const auto shifts = static_cast<uint64_t>(std::min(data.stride, spare + 1));
  const uint64_t shift = shuffled ? (philox(seed, epoch, kWindows)[0] * shifts) >> 32 : 0;
  return static_cast<int64_t>(index) * data.stride + static_cast<int64_t>(shift);
}

}  // namespace arbalest
