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

// How many places the query of a row sees, from the first one on. Rows are the places of one head, those of a sequence's heads one behind
// the other.
template <bool Causal> struct SeenPlaces {
  const float* lengths;  // (N) or null
  int64_t sequence;      // rows of a sequence
  int length;

  EVERYWHERE int of(int64_t row) const {
    const int t = static_cast<int>(row % length);
    if (Causal) return t + 1;
    const auto count = static_cast<int>(places_of(lengths, row / sequence, length));
    return t < count ? count : 0;
  }
};

}  // namespace arbalest::cuda
