// Two neighbouring values in bf16, which AVX512_BF16 multiplies by two others, adding both products to a sum in f32, in the time of one
// multiply-add. The products of matrices here run over floats or over pairs.
#pragma once

#include <type_traits>

#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// The first value in the lower half.
struct Pair {
  uint32_t bits;
};

// What a kernel multiplies whose values are stored as T, and a register of it.
template <class T> using ItemOf = std::conditional_t<std::is_same_v<T, float>, float, Pair>;
template <class Item> using RegisterOf = std::conditional_t<std::is_same_v<Item, float>, Floats, Words>;

inline Words all(Pair pair) { return Words{} + pair.bits; }

inline Words load(const Pair* from) {
  Words pairs;
  std::memcpy(&pairs, from, sizeof pairs);
  return pairs;
}

inline void store(Pair* to, Words pairs) { std::memcpy(to, &pairs, sizeof pairs); }

inline void store(Pair* to, Words pairs, int count) { store(reinterpret_cast<float*>(to), reinterpret_cast<Floats>(pairs), count); }

template <bool Partial> void store(Pair* to, Words pairs, int count) { Partial ? store(to, pairs, count) : store(to, pairs); }

inline Words in_register(Words pairs) { return reinterpret_cast<Words>(in_register(reinterpret_cast<Floats>(pairs))); }

inline Floats multiply_add(Floats sums, Floats a, Floats b) { return sums + a * b; }

inline Floats multiply_add(Floats sums, Words a, Words b) {
#if defined(__AVX512BF16__)
  const auto pairs = [](Words words) { return reinterpret_cast<__m512bh>(words); };
  return reinterpret_cast<Floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sums), pairs(a), pairs(b)));
#else
  const auto first = [](Words words) { return reinterpret_cast<Floats>(words << 16); };
  const auto second = [](Words words) { return reinterpret_cast<Floats>(words & 0xffff0000u); };
  return sums + first(a) * first(b) + second(a) * second(b);
#endif
}

// A pair of each two lanes, rounded.
inline Words paired(Floats first, Floats second) { return lengthened(narrow(first)) | lengthened(narrow(second)) << 16; }

// A pair of each two lanes that have been loaded from bf16.
inline Words paired_again(Floats first, Floats second) {
  return reinterpret_cast<Words>(first) >> 16 | (reinterpret_cast<Words>(second) & 0xffff0000u);
}

}  // namespace arbalest::kernels
