// The standard normal distribution: its share below x, and its density at x.
#pragma once

#include "cpu/kernels/sigmoid.h"

namespace arbalest::kernels {

struct Normal {
  Floats cumulative, density;
};

// The tail above |x| is e^(-x^2/2) times a function that is smooth in 1 / (1 + 0.28 |x|): a polynomial of least relative error (6e-8 up to
// 14), so that small tails are exact too.
inline Normal standard_normal(Floats x) {
  const Floats power = exponential(-0.5f * x * x);
  // Beyond 16 the power is zero.
  const Floats size = magnitude_of(x), t = reciprocal(1.0f + 0.28f * (size < 16.0f ? size : all(16.0f)));
  Floats p = all(0.022522273f);
  p = p * t - 0.08208452f;
  p = p * t + 0.0671977f;
  p = p * t + 0.023712832f;
  p = p * t + 0.051342294f;
  p = p * t + 0.0928658f;
  p = p * t + 0.10073712f;
  p = p * t + 0.1120207f;
  p = p * t + 0.11168582f;
  const Floats tail = p * t * power;
  return {x < 0.0f ? tail : 1.0f - tail, power * 0.398942280f};
}

}  // namespace arbalest::kernels
