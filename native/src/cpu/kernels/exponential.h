// e to the power of each lane, to about 2 units in the last place, for values of at most 88; 0 for values below -87.
#pragma once

#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// Range reduction by ln 2 in two parts and a polynomial of degree 6: S. Moshier's Cephes library, expf.
inline Floats exponential(Floats x) {
  const Floats scaled = x * 1.44269504088896341f;
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

}  // namespace arbalest::kernels
