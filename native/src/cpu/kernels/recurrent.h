// What the passes of recurrent layers share. A product of the states with w follows each position, so that w is packed once a run, as the
// products read it. Samples do not meet: each thread has some of them, from the first position to the last.
#pragma once

#include <algorithm>

#include "cpu/kernels/operator.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/product.h"
#include "cpu/kernels/scratch_pieces.h"
#include "cpu/recurrence.h"

namespace arbalest::kernels::recurrent {

// A recurrence whose lengths may be given. What a sample carries from position to position needs no reset: those that do not count come
// behind all others, or in reverse before them.
struct Sequences : Recurrence {
  Sequences(const Shape& y, const Attributes& attributes, const float* lengths_) : Recurrence(y, attributes), lengths(lengths_) {}

  const float* lengths;  // (N) or null

  int64_t at(int64_t sample, int64_t step) const { return sample * length + position(step); }
  bool counts(int64_t sample, int64_t step) const { return !lengths || position(step) < length_of(lengths[sample], length); }
};

// body.operator()<Partial>(feature, width) for each register of a row of features.
template <class Body> void for_each_register(int64_t features, const Body& body) {
  int64_t f = 0;
  for (; f + kLanes <= features; f += kLanes) body.template operator()<false>(f, kLanes);
  if (f < features) body.template operator()<true>(f, static_cast<int>(features - f));
}

// From one row of items to the next.
template <class Item> int64_t item_row(int64_t values) { return in_registers(items_for<Item>(values)); }

// A row of values as items that follow each other, zeros behind the last one.
template <class Item, class T> void to_items(const T* from, int64_t values, Item* to) {
  for (int64_t at = 0; at < items_for<Item>(values); at += kLanes)
    store(to + at, load_items<Item>(from + at * kValues<Item>, values - at * kValues<Item>));
}

// body(begin, end) for a share of the samples by each thread. `elements` is the size of the whole work.
template <class Body> void for_shares(int64_t samples, int64_t elements, const Body& body) {
  const int64_t shares = worth_threads(elements) ? std::min<int64_t>(omp_get_max_threads(), samples) : 1;
  for_each(shares, elements, [&](int64_t share) { body(samples * share / shares, samples * (share + 1) / shares); });
}

// The work of a pass in elements, the unit of the parallel loops.
inline int64_t work_of(const Sequences& of, int64_t gates) { return of.samples * of.length * of.features * (gates * of.features / 8 + 16); }

inline std::vector<Port> forward_ports() {
  using enum Role;
  return {{"x", canonical}, {"w", parameter}, {"b", parameter, true}, {"lengths", parameter, true}};
}

}  // namespace arbalest::kernels::recurrent
