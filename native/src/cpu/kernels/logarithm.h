// Logarithms, by the series of the area tangent.
#pragma once

#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// 2 * artanh(s) for |s| of at most 1/3, by its power series: log((1 + s) / (1 - s)). Small results keep their relative precision.
inline Floats twice_artanh(Floats s) {
  const Floats z = s * s;
  Floats series = all(2.0f / 15);
  series = series * z + 2.0f / 13;
  series = series * z + 2.0f / 11;
  series = series * z + 2.0f / 9;
  series = series * z + 2.0f / 7;
  series = series * z + 2.0f / 5;
  series = series * z + 2.0f / 3;
  return series * z * s + 2.0f * s;
}

// log(1 + x) for x from 0 to 1.
inline Floats log_of_one_plus(Floats x) { return twice_artanh(x / (2.0f + x)); }

// The natural logarithm of normal positive numbers; a NaN stays one.
inline Floats logarithm(Floats x) {
  constexpr int32_t kRootOfHalf = 0x3f3504f3;  // the fraction comes to lie between the roots of 1/2 and of 2
  const Ints bits = reinterpret_cast<Ints>(x);
  const Ints exponent = (bits - kRootOfHalf) >> 23;
  const Floats fraction = reinterpret_cast<Floats>(bits - (exponent << 23));
  const Floats power = __builtin_convertvector(exponent, Floats);
  const Floats result = twice_artanh((fraction - 1.0f) / (fraction + 1.0f)) + power * 0.693147181f;
  return x == x ? result : x;
}

}  // namespace arbalest::kernels
