// What the kernels of batch norm's gradients read: g = (gy + gy2) masked by 0 < y < most, and its sums over rows.
#pragma once

#include <cmath>

#include "cuda/number.h"
#include "cuda/operators/bounds.h"
#include "cuda/table.h"

namespace arbalest::cuda {

template <int V> struct TwoSums {
  float sum[V], product[V];

  EVERYWHERE friend TwoSums operator+(const TwoSums& left, const TwoSums& right) {
    TwoSums both;
    for (int v = 0; v < V; ++v) {
      both.sum[v] = left.sum[v] + right.sum[v];
      both.product[v] = left.product[v] + right.product[v];
    }
    return both;
  }
};

template <class T, int V> struct Gradients {
  const T* x;                    // (rows, C)
  const T* y;                    // (rows, C), null without relu
  const T* gy;                   // (rows, C)
  const T* gy2;                  // (rows, C) or null
  const float *mean, *variance;  // (C)
  float epsilon;
  Bounds bounds;

  explicit Gradients(const OperatorSpec& spec)
      : x(spec.inputs[0].as<T>()),
        y(Bounds(spec.attributes).relu ? spec.inputs[4].as<T>() : nullptr),
        gy(spec.inputs[5].as<T>()),
        gy2(spec.inputs[6].as<T>()),
        mean(spec.inputs[2].as<float>()),
        variance(spec.inputs[3].as<float>()),
        epsilon(static_cast<float>(spec.attributes.number("epsilon"))),
        bounds(spec.attributes) {}

  EVERYWHERE float inverse(int c) const { return 1 / sqrtf(variance[c] + epsilon); }

  // The masked sum of V gradients.
  EVERYWHERE Pack<float, V> masked(int64_t i) const {
    const Pack<T, V> first = read<T, V>(gy, i);
    Pack<T, V> second{}, results{};
    if (gy2) second = read<T, V>(gy2, i);
    if (y) results = read<T, V>(y, i);
    Pack<float, V> sums;
    for (int v = 0; v < V; ++v) {
      const float sum = gy2 ? float(first.at[v]) + float(second.at[v]) : float(first.at[v]);
      sums.at[v] = y && !bounds.passes(float(results.at[v])) ? 0.0f : sum;
    }
    return sums;
  }

  // The sums of g and of g * (x - mean) over rows first, first + step, ... below `end`, of one of a row's `packs` packs.
  EVERYWHERE TwoSums<V> sums_of_rows(int pack, int packs, int first, int end, int step) const {
    TwoSums<V> found{};
    float centre[V];
    for (int v = 0; v < V; ++v) centre[v] = mean[pack * V + v];
    UNROLLED(4)
    for (int row = first; row < end; row += step) {
      const int64_t i = static_cast<int64_t>(row) * packs + pack;
      const Pack<float, V> g = masked(i);
      const Pack<T, V> values = read<T, V>(x, i);
      for (int v = 0; v < V; ++v) {
        found.sum[v] += g.at[v];
        found.product[v] += g.at[v] * (float(values.at[v]) - centre[v]);
      }
    }
    return found;
  }
};

}  // namespace arbalest::cuda
