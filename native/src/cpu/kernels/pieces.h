// A run of columns in pieces of which the compiler knows the length, so that what belongs to a piece can stay in registers.
#pragma once

#include <cstdint>

namespace arbalest::kernels {

// body.operator()<Count>(first) for a piece of `count` <= Count. Inlined always: what the body keeps in registers must stay there.
template <int Count, class Body> [[gnu::always_inline]] inline void piece_of(int64_t count, int64_t first, const Body& body) {
  if (count == Count) return body.template operator()<Count>(first);
  if constexpr (Count > 1) piece_of<Count - 1>(count, first, body);
}

// The same over [0, count), in pieces of at most Most that are as equal as they can be.
template <int Most, class Body> [[gnu::always_inline]] inline void in_pieces(int64_t count, const Body& body) {
  int64_t first = 0;
  for (int64_t pieces = (count + Most - 1) / Most; pieces > 0; --pieces) {
    const int64_t size = (count - first + pieces - 1) / pieces;
    piece_of<Most>(size, first, body);
    first += size;
  }
}

}  // namespace arbalest::kernels
