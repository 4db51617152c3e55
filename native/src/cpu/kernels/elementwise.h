// Loops over elements that do not depend on each other.
#pragma once

#include "cpu/kernels/parallel.h"
#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// body.operator()<Partial>(at, width) for each register of elements [begin, end); only the last may be partial.
template <class Body> inline void for_each_register(int64_t begin, int64_t end, const Body& body) {
  int64_t at = begin;
#pragma GCC unroll 4
  for (; at + kLanes <= end; at += kLanes) body.template operator()<false>(at, kLanes);
  if (at < end) body.template operator()<true>(at, static_cast<int>(end - at));
}

// The same over [0, elements), shared among threads.
template <class Body> inline void for_all_registers(int64_t elements, const Body& body) {
  for_each_slice(elements, [&](int64_t begin, int64_t end) { for_each_register(begin, end, body); });
}

}  // namespace arbalest::kernels
