// Sums over learners and mixtures of vectors; see AveragePass and BlendPass.
#pragma once

#include "cuda/number.h"

namespace arbalest::cuda {

// Vectors by value: a table that needs no copy of its own to the device.
inline constexpr int kMostSummands = 64;
struct Summands {
  const float* at[kMostSummands];
  int count = 0;
};

// to = base + scale * sum_j x_j + mu * (base - to), the sum in the table's order.
template <int V> struct Average {
  const float* base;  // (P) or null
  float* to;          // (P)
  Summands summands;  // each (P)
  float scale, mu;
  int64_t first_pack;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t pack = first_pack + i;
    Pack<float, V> sum{}, z{}, old{};
    for (int k = 0; k < summands.count; ++k) {
      const Pack<float, V> x = read<float, V>(summands.at[k], pack);
      for (int v = 0; v < V; ++v) sum.at[v] += x.at[v];
    }
    if (base) z = read<float, V>(base, pack);
    if (mu != 0) old = read<float, V>(to, pack);
    for (int v = 0; v < V; ++v) sum.at[v] = z.at[v] + scale * sum.at[v] + (mu != 0 ? mu * (z.at[v] - old.at[v]) : 0.0f);
    write(to, pack, sum);
  }
};

// to = from + weight * (towards - from); the weights 0 and 1 copy exactly.
template <int V> struct Blend {
  const float *from, *towards;  // (P)
  float* to;                    // (P)
  float weight;
  int64_t first_pack;

  EVERYWHERE void operator()(int64_t i) const {
    const int64_t pack = first_pack + i;
    const Pack<float, V> a = read<float, V>(from, pack), b = read<float, V>(towards, pack);
    Pack<float, V> mixed = weight == 1 ? b : a;
    if (weight != 0 && weight != 1)
      for (int v = 0; v < V; ++v) mixed.at[v] = a.at[v] + weight * (b.at[v] - a.at[v]);
    write(to, pack, mixed);
  }
};

}  // namespace arbalest::cuda
