// Mean and sum of squared deviations of V channels over `count` rows, merged by Chan, Golub and LeVeque's rule.
#pragma once

#include "cuda/number.h"

namespace arbalest::cuda {

template <int V> struct Moments {
  float count, mean[V], squares[V];

  // Of rows first, first + step, ... below `end`, which lie `packs` packs of V channels apart.
  template <class T> EVERYWHERE static Moments of_rows(const T* x, int packs, int first, int end, int step) {
    Moments found{};
    if (first >= end) return found;
    // Differences from the first row: sums of squares then lose nothing to a large mean.
    const Pack<T, V> origin = read<T, V>(x, static_cast<int64_t>(first) * packs);
    float sums[V] = {}, squares[V] = {};
    UNROLLED(4)
    for (int row = first; row < end; row += step) {
      const Pack<T, V> values = read<T, V>(x, static_cast<int64_t>(row) * packs);
      for (int v = 0; v < V; ++v) {
        const float difference = float(values.at[v]) - float(origin.at[v]);
        sums[v] += difference;
        squares[v] += difference * difference;
      }
      found.count += 1;
    }
    for (int v = 0; v < V; ++v) {
      const float shift = sums[v] / found.count;
      found.mean[v] = float(origin.at[v]) + shift;
      found.squares[v] = squares[v] - sums[v] * shift;
    }
    return found;
  }

  EVERYWHERE friend Moments operator+(const Moments& left, const Moments& right) {
    Moments both = left;
    both.count = left.count + right.count;
    const float share = both.count > 0 ? right.count / both.count : 0;
    for (int v = 0; v < V; ++v) {
      const float step = right.mean[v] - left.mean[v];
      both.mean[v] = left.mean[v] + step * share;
      both.squares[v] = left.squares[v] + right.squares[v] + step * step * left.count * share;
    }
    return both;
  }
};

}  // namespace arbalest::cuda
