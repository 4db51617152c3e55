// The standard normal distribution: its share below x, and its density at x.
#pragma once

#include <type_traits>

#include "cpu/kernels/sigmoid.h"

namespace arbalest::kernels {

struct Normal {
  Floats cumulative, density;
};

// The tail above |x| is e^(-x^2/2) times a function that is smooth in 1 / (1 + c |x|): a polynomial of least relative error, so that small
// tails are exact too. T is the storage type of the result. The polynomial's error is 6e-8 for |x| up to 14; for bfloat16 7e-5, and with
// the power's and the reciprocal's at most 2e-4, less than an eighth of a unit in the last place.
template <class T> inline Normal standard_normal(Floats x) {
  constexpr bool kShort = std::is_same_v<T, bf16>;
  const Floats exponent = x * x * -0.721347520f;  // log2(e) / 2
  const Floats power = kShort ? power_of_two_for_bf16(exponent) : power_of_two(exponent);
  // Beyond 16 the power is zero.
  const Floats size = magnitude_of(x), bounded = size < 16.0f ? size : all(16.0f);
  Floats p, t;
  if constexpr (kShort) {
    t = rough_reciprocal(1.0f + 0.36f * bounded);
    p = all(-0.0871127173f);
    p = p * t + 0.224351197f;
    p = p * t + 0.0643625632f;
    p = p * t + 0.155686274f;
    p = p * t + 0.142745867f;
  } else {
    t = reciprocal(1.0f + 0.28f * bounded);
    p = all(0.022522273f);
    p = p * t - 0.08208452f;
    p = p * t + 0.0671977f;
    p = p * t + 0.023712832f;
    p = p * t + 0.051342294f;
    p = p * t + 0.0928658f;
    p = p * t + 0.10073712f;
    p = p * t + 0.1120207f;
    p = p * t + 0.11168582f;
  }
  const Floats tail = p * t * power;
  return {x < 0.0f ? tail : 1.0f - tail, power * 0.398942280f};
}

}  // namespace arbalest::kernels
