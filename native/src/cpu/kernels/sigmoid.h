// The logistic function and the hyperbolic tangent: about 3 units in the last place, over the whole range.
#pragma once

#include "cpu/kernels/exponential.h"

namespace arbalest::kernels {

inline Floats magnitude_of(Floats x) { return reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & 0x7fffffff); }

// 1 / (1 + e^-x), also exact for large negative x, where it is not rounded to 0.
inline Floats sigmoid(Floats x) {
  const Floats power = exponential(-magnitude_of(x)), share = reciprocal(1.0f + power);
  return x < 0.0f ? power * share : share;
}

// Near zero by the odd polynomial of S. Moshier's Cephes library, tanhf; elsewhere by the exponential.
inline Floats hyperbolic_tangent(Floats x) {
  const Floats size = magnitude_of(x), z = x * x;
  Floats p = all(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const Floats near = p * z * x + x;
  const Floats bounded = size > 20.0f ? all(20.0f) : size;
  const Floats far = 1.0f - 2.0f * reciprocal(exponential(2.0f * bounded) + 1.0f);
  return size < 0.625f ? near : x < 0.0f ? -far : far;
}

}  // namespace arbalest::kernels
