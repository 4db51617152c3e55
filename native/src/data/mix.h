// How two images of a batch are mixed, and their targets with them. All backends use this one rule.
//   mixup   The mean of both, weighted: Zhang, Cisse, Dauphin and Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", ICLR 2018.
//   cutmix  A rectangle of the one lies over the other: Yun, Han, Oh, Chun, Choe and Yoo, "CutMix: Regularization Strategy to Train Strong
//           Classifiers with Localizable Features", ICCV 2019.
// Image n of a batch of N is mixed with image N - 1 - n, both by the same share; the middle one of an odd batch stays as it is.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/attributes.h"
#include "core/everywhere.h"
#include "core/random.h"

namespace arbalest {

// The share that an image keeps follows Beta(a, a); these are a, or 0 for a way that is not taken. Of both ways each pair takes one at
// random.
struct MixOptions {
  float mixup = 0, cutmix = 0;

  EVERYWHERE bool any() const { return mixup > 0 || cutmix > 0; }
};

inline MixOptions mix_options(const Attributes& attributes) {
  return {static_cast<float>(attributes.number("mixup", 0)), static_cast<float>(attributes.number("cutmix", 0))};
}

// The largest a: the draw below takes 6 attempts on average for 2, 70 for 4.
inline constexpr double kMostMixing = 2;

struct Mix {
  float own;                     // the share of an image's own target, and of its pixels where it `blends`
  bool blends;                   // mixup
  int top, left, bottom, right;  // cutmix: rows [top, bottom) and columns [left, right) are the partner's

  EVERYWHERE bool takes(int64_t row, int64_t column) const { return row >= top && row < bottom && column >= left && column < right; }
};

// Draws from Beta(a, a): u^(1/a) / (u^(1/a) + v^(1/a)) of uniform u and v for which the sum is at most 1, in logarithms, since the powers
// may be too small for a float. M. D. Jöhnk, "Erzeugung von betaverteilten und gammaverteilten Zufallszahlen", Metrika 8, 1964.
EVERYWHERE inline float symmetric_beta(float a, uint64_t seed, uint64_t position) {
  for (uint64_t attempt = 1;; ++attempt) {
    const Random4 r = philox(seed, position, (attempt << 8) | kMix);
    // In (0, 1].
    const float u = logf(uniform(r[0]) + 0x1p-24f) / a, v = logf(uniform(r[1]) + 0x1p-24f) / a;
    const float larger = u > v ? u : v, smaller = u > v ? v : u;
    const float sum = larger + log1pf(expf(smaller - larger));
    if (sum <= 0) return expf(u - sum);
  }
}

// Of the pair of images (H, W) whose first one stands at `position`.
EVERYWHERE inline Mix mix_of(const MixOptions& options, uint64_t seed, uint64_t position, int height, int width) {
  const Random4 r = philox(seed, position, kMix);
  const bool blends = options.cutmix <= 0 || (options.mixup > 0 && (r[2] >> 31) != 0);
  const float share = symmetric_beta(blends ? options.mixup : options.cutmix, seed, position);
  if (blends) return {share, true, 0, 0, 0, 0};
  // The rectangle's area is the partner's share of the image; what lies outside of the image is lost.
  const float side = sqrtf(1 - share);
  const int row = static_cast<int>((uint64_t{r[0]} * static_cast<uint64_t>(height)) >> 32);
  const int column = static_cast<int>((uint64_t{r[1]} * static_cast<uint64_t>(width)) >> 32);
  const int above = static_cast<int>(side * static_cast<float>(height)) / 2,
            beside = static_cast<int>(side * static_cast<float>(width)) / 2;
  Mix mix{1, false, row - above, column - beside, row + above, column + beside};
  mix.top = mix.top < 0 ? 0 : mix.top;
  mix.left = mix.left < 0 ? 0 : mix.left;
  mix.bottom = mix.bottom > height ? height : mix.bottom;
  mix.right = mix.right > width ? width : mix.right;
  const auto taken = static_cast<float>((mix.bottom - mix.top) * (mix.right - mix.left));
  mix.own = 1 - taken / (static_cast<float>(height) * static_cast<float>(width));
  return mix;
}

}  // namespace arbalest
