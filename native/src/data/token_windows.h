// Where a sample of token ids begins: a sample of its own, or a window of one long row. One rule for every backend.
#pragma once

#include <algorithm>

#include "core/random.h"
#include "data/dataset.h"

namespace arbalest {

// The number of tokens before sample `index` of a data set of tokens. Windows that are shuffled all move by a number of tokens, less than a
// stride, that is another one every epoch: with windows side by side an epoch is one pass over the text, cut at other places each time.
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
