// Powers of e and of 2.
#pragma once

#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

inline constexpr float kLog2OfE = 1.44269504088896341f;

// e to the power of each lane, to about 2 units in the last place, for values of at most 88; 0 for values below -87.
// Range reduction by ln 2 in two parts and a polynomial of degree 6: S. Moshier's Cephes library, expf.
inline Floats exponential(Floats x) {
  const Floats scaled = x * kLog2OfE;
  // Rounds to the nearest whole number: a float of this size has no digits after the point.
  const Floats shifted = scaled + 12582912.0f;
  const Floats whole = shifted - 12582912.0f;
  Floats r = x - whole * 0.693359375f;
  r = r + whole * 2.12194440e-4f;
  Floats p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
#if defined(__AVX512F__)
  const __mmask16 kept = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(x), _mm512_set1_ps(-87.0f), _CMP_NLT_UQ);
  return reinterpret_cast<Floats>(_mm512_maskz_scalef_ps(kept, reinterpret_cast<__m512>(p), reinterpret_cast<__m512>(whole)));
#else
  const Ints exponent = __builtin_convertvector(whole, Ints);
  const Floats power = reinterpret_cast<Floats>((exponent + 127) << 23);
  return x < -87.0f ? Floats{} : x == x ? p * power : x;
#endif
}

// 2 to the power of each lane, for values of at most 127; 0 for values below -126. `fraction(r)` gives 2^r for r in
// [-1/2, 1/2]. Less work than the power of e, since what is taken off is exact.
template <class Fraction> inline Floats power_of_two(Floats x, const Fraction& fraction) {
  const Floats shifted = x + 12582912.0f;
  const Floats whole = shifted - 12582912.0f;
  const Floats p = fraction(x - whole);
#if defined(__AVX512F__)
  const __mmask16 kept = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(x), _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  return reinterpret_cast<Floats>(_mm512_maskz_scalef_ps(kept, reinterpret_cast<__m512>(p), reinterpret_cast<__m512>(whole)));
#else
  const Ints exponent = __builtin_convertvector(whole, Ints);
  const Floats power = reinterpret_cast<Floats>((exponent + 127) << 23);
  return x < -126.0f ? Floats{} : x == x ? p * power : x;
#endif
}

// To about 2 units in the last place, by a polynomial of least relative error (9e-8, and none at 0).
inline Floats power_of_two(Floats x) {
  return power_of_two(x, [](Floats r) {
    Floats p = all(0.00132647273f);
    p = p * r + 0.00967151299f;
    p = p * r + 0.0555073358f;
    p = p * r + 0.240222424f;
    p = p * r + 0.693147004f;
    return p * r + 1.0f;
  });
}

// To a relative error of 8e-5. An eighth of a unit in the last place of bfloat16 is six times as much.
inline Floats power_of_two_for_bf16(Floats x) {
  return power_of_two(x, [](Floats r) {
    Floats p = all(0.0551716685f);
    p = p * r + 0.242611125f;
    p = p * r + 0.693260968f;
    return p * r + 0.999928057f;
  });
}

}  // namespace arbalest::kernels
