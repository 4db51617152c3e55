// The logistic function and the hyperbolic tangent. T is the type in which the result is stored: in float to about 3 units in the last
// place over the whole range, in bfloat16 to a relative error of 2e-4, which is less than an eighth of a unit in the last place.
#pragma once

#include <type_traits>

#include "cpu/kernels/exponential.h"

namespace arbalest::kernels {

inline Floats magnitude_of(Floats x) { return reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & 0x7fffffff); }

// The sigmoid of x, and 1 less that, which no subtraction gives: the smaller one of both is exact, too.
struct Shares {
  Floats below, above;
};

template <class T> inline Shares shares_of(Floats x) {
  const Floats size = magnitude_of(x);
  Floats power, most;
  if constexpr (std::is_same_v<T, bf16>) {
    power = power_of_two_for_bf16(size * -kLog2OfE);
    most = rough_reciprocal(1.0f + power);
  } else {
    power = exponential(-size);
    most = reciprocal(1.0f + power);
  }
  const Floats least = power * most;
  return {x < 0.0f ? least : most, x < 0.0f ? most : least};
}

// 1 / (1 + e^-x), also for large negative x, where it is not rounded to 0.
template <class T = float> inline Floats sigmoid(Floats x) { return shares_of<T>(x).below; }

// Near zero by the odd polynomial of S. Moshier's Cephes library, tanhf; elsewhere by the exponential.
template <class T> inline Floats hyperbolic_tangent(Floats x) {
  const Floats size = magnitude_of(x), z = x * x;
  Floats p = all(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const Floats near = p * z * x + x;
  const Floats bounded = size > 20.0f ? all(20.0f) : size;
  Floats share;  // 1 / (e^2x + 1)
  if constexpr (std::is_same_v<T, bf16>)
    share = rough_reciprocal(power_of_two_for_bf16(bounded * (2.0f * kLog2OfE)) + 1.0f);
  else
    share = reciprocal(exponential(2.0f * bounded) + 1.0f);
  const Floats far = 1.0f - 2.0f * share;
  return size < 0.625f ? near : x < 0.0f ? -far : far;
}

}  // namespace arbalest::kernels
