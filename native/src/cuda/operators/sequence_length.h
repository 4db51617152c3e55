// How many places of a sequence count, where they were padded to one length.
#pragma once

#include "cuda/number.h"

namespace arbalest::cuda {

// Of `most` places: all where no lengths (N) are given; what is no length counts as none.
EVERYWHERE inline int64_t places_of(const float* lengths, int64_t sample, int64_t most) {
  if (!lengths) return most;
  const float length = lengths[sample];
  if (!(length > 0)) return 0;
  return length < static_cast<float>(most) ? static_cast<int64_t>(length) : most;
}

}  // namespace arbalest::cuda
