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

// Where a sample has a place: counted from the first one or, where there are lengths, backwards from the last one that counts, which is -1;
// below 0 where it has no such place.
EVERYWHERE inline int64_t place_of(int64_t given, const float* lengths, int64_t sample, int64_t most) {
  return lengths ? places_of(lengths, sample, most) + given : given;
}

}  // namespace arbalest::cuda
