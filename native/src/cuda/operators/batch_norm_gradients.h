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

// What a gradient of y is summed and multiplied with, all (rows, C).
template <class T, int V> struct GradientOperands {
  const T* x;
  const T* y;         // null without relu
  const T* gy2;       // or null
  const float* mean;  // (C)
  Bounds bounds;

  // Their values beside V gradients.
  struct Values {
    Pack<T, V> x, y, gy2;
  };

  EVERYWHERE Values load(int64_t pack) const {
    Values values{read<T, V>(x, pack), {}, {}};
    if (y) values.y = read<T, V>(y, pack);
    if (gy2) values.gy2 = read<T, V>(gy2, pack);
    return values;
  }

  // The gradients gy + gy2, masked.
  EVERYWHERE Pack<float, V> masked(const Pack<T, V>& gy, const Values& values) const {
    Pack<float, V> sums;
    for (int v = 0; v < V; ++v) {
      const float sum = gy2 ? float(gy.at[v]) + float(values.gy2.at[v]) : float(gy.at[v]);
      sums.at[v] = y && !bounds.passes(float(values.y.at[v])) ? 0.0f : sum;
    }
    return sums;
  }
};

template <class T, int V> struct Gradients {
  GradientOperands<T, V> operands;
  const T* gy;            // (rows, C)
  const float* variance;  // (C)
  float epsilon;

  explicit Gradients(const OperatorSpec& spec)
      : operands{spec.inputs[0].as<T>(), Bounds(spec.attributes).relu ? spec.inputs[4].as<T>() : nullptr, spec.inputs[6].as<T>(),
                 spec.inputs[2].as<float>(), Bounds(spec.attributes)},
        gy(spec.inputs[5].as<T>()),
        variance(spec.inputs[3].as<float>()),
        epsilon(static_cast<float>(spec.attributes.number("epsilon"))) {}

  EVERYWHERE float mean(int c) const { return operands.mean[c]; }
  EVERYWHERE float inverse(int c) const { return inverse_of(variance[c]); }
  EVERYWHERE float inverse_of(float variance_) const { return 1 / sqrtf(variance_ + epsilon); }

  // The sums of g and of g * (x - mean) over rows first, first + step, ... below `end`, of one of a row's `packs` packs.
  EVERYWHERE TwoSums<V> sums_of_rows(int pack, int packs, int first, int end, int step) const {
    TwoSums<V> found{};
    float centre[V];
    for (int v = 0; v < V; ++v) centre[v] = mean(pack * V + v);
    UNROLLED(4)
    for (int row = first; row < end; row += step) {
      const int64_t i = static_cast<int64_t>(row) * packs + pack;
      const auto values = operands.load(i);
      const Pack<float, V> g = operands.masked(read<T, V>(gy, i), values);
      for (int v = 0; v < V; ++v) {
        found.sum[v] += g.at[v];
        found.product[v] += g.at[v] * (float(values.x.at[v]) - centre[v]);
      }
    }
    return found;
  }
};

}  // namespace arbalest::cuda
