// The length of a sequence that a padded tensor has: how many of its positions count.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/tensor.h"

namespace arbalest {

// Of `most` positions. What is no length counts as none.
template <class T> int64_t length_of(T given, int64_t most) {
  return given > 0 ? std::min(static_cast<int64_t>(std::min(given, static_cast<T>(most))), most) : 0;
}

// Where a sample has a position: counted from the first one or, where there are lengths (N), backwards from the last one that counts, which
// is -1; -1 where it has no such position.
template <class T> int64_t position_of(int64_t given, const T* lengths, int64_t sample, int64_t most) {
  return lengths ? std::max<int64_t>(length_of(lengths[sample], most) + given, -1) : given;
}

// Checks a use of a position of sequences (N, T, F), with or without lengths as input 1; returns the shape of what is taken.
template <class Use> Shape checked_position(const Use& use, const Shape& sequence) {
  const bool backwards = use.inputs() > 1 && use.has_input(1);
  if (backwards) use.input_is(1, {sequence[0]});
  use.whole("position", backwards ? -sequence[1] : 0, backwards ? -1 : sequence[1] - 1);
  return {sequence[0], sequence[2]};
}

}  // namespace arbalest
