// What the kernels of batch norm know of each of a block's channels, and their arithmetic for V elements by it.
#pragma once

#include <cmath>

#include "cuda/number.h"
#include "cuda/operators/bounds.h"

namespace arbalest::cuda {

// y = gamma / deviation * (x - mean) + beta, plus a residual.
template <int Channels> struct NormNumbers {
  float mean[Channels], scale[Channels], beta[Channels];

  EVERYWHERE void set(int channel, float mean_, float variance, float epsilon, float gamma, float beta_) {
    mean[channel] = mean_;
    scale[channel] = gamma / sqrtf(variance + epsilon);
    beta[channel] = beta_;
  }

  // Of channels `first` on. The residual counts with `adds`.
  template <class T, int V>
  EVERYWHERE Pack<T, V> apply(const Pack<T, V>& x, bool adds, const Pack<T, V>& residual, int first, const Bounds& bounds) const {
    Pack<T, V> y;
    WHOLLY_UNROLLED
    for (int v = 0; v < V; ++v) {
      const int c = first + v;
      float value = (float(x.at[v]) - mean[c]) * scale[c] + beta[c];
      if (adds) value += float(residual.at[v]);
      y.at[v] = T(bounds.within(value));
    }
    return y;
  }
};

// gx = gamma / deviation * (g - gbeta / M - xhat * ggamma / M) over M rows.
template <int Channels> struct NormGradientNumbers {
  float mean[Channels], inverse[Channels], scale[Channels], gbeta[Channels], ggamma[Channels];  // the last two divided by M

  EVERYWHERE void set(int channel, float gamma, float mean_, float inverse_, float gbeta_, float ggamma_, float rows) {
    mean[channel] = mean_;
    inverse[channel] = inverse_;
    scale[channel] = gamma * inverse_;
    gbeta[channel] = gbeta_ / rows;
    ggamma[channel] = ggamma_ / rows;
  }

  // Of channels `first` on.
  template <class T, int V> EVERYWHERE Pack<T, V> apply(const Pack<T, V>& x, const Pack<float, V>& g, int first) const {
    Pack<T, V> gx;
    WHOLLY_UNROLLED
    for (int v = 0; v < V; ++v) {
      const int c = first + v;
      const float normalised = (float(x.at[v]) - mean[c]) * inverse[c];
      gx.at[v] = T(scale[c] * (g.at[v] - gbeta[c] - normalised * ggamma[c]));
    }
    return gx;
  }
};

}  // namespace arbalest::cuda
