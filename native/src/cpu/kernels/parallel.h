// Work shared among the threads that the backend gave to the calling thread. Results never depend on their number: every item is
// computed whole by one thread. With one thread, or too little work to pay for waking others, no parallel region is entered.
#pragma once

#include <omp.h>

#include <cstdint>

namespace arbalest::kernels {

// Waking other threads costs some microseconds: about the time of one thread for this many elements.
inline constexpr int64_t kElementsWorthThreads = 32768;

inline bool worth_threads(int64_t elements) { return elements >= kElementsWorthThreads && omp_get_max_threads() > 1; }

// body(item) for each of `items`; `elements` is the size of the whole work.
template <class Body> void for_each(int64_t items, int64_t elements, const Body& body) {
  if (!worth_threads(elements)) {
    for (int64_t item = 0; item < items; ++item) body(item);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t item = 0; item < items; ++item) body(item);
}

// body(begin, end) over slices of [0, elements).
template <class Body> void for_each_slice(int64_t elements, const Body& body) {
  constexpr int64_t kSlice = 8192;
  if (!worth_threads(elements)) {
    body(int64_t{0}, elements);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < elements; begin += kSlice) body(begin, begin + kSlice < elements ? begin + kSlice : elements);
}

}  // namespace arbalest::kernels
