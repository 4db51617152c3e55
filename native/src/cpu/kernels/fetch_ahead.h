// Memory that is read or written in order, fetched before that. The processor does so by itself where whole registers are read one after
// another and little is done with them; where a kernel does more with each line, or reads a part of it at a time, it would wait.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// Whether arithmetic on several arrays is faster than memory. With narrower registers it is not, and fetching ahead costs more than it
// saves.
inline constexpr bool kOutrunsMemory = kLanes >= 16;

inline constexpr int64_t kLineBytes = 64;
// Rows of a line of memory, if it has several.
template <class T, int Vectors> inline constexpr int64_t kRowsOfLine = std::max<int64_t>(1, kLineBytes / (Vectors * kLanes * sizeof(T)));
// How far ahead: for less memory takes too long, and what is fetched sooner leaves the first cache again.
inline constexpr int64_t kBytesAhead = 96 * kLineBytes;

template <bool Written = false, class T> inline void fetch_ahead(const T* at) {
  __builtin_prefetch(reinterpret_cast<const char*>(at) + kBytesAhead, Written);
}

}  // namespace arbalest::kernels
