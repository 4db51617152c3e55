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

// Whether an item is a pair; the values in an item; and how many items hold `values`.
template <class Item> inline constexpr bool kPaired = std::is_same_v<Item, Pair>;
template <class Item> inline constexpr int64_t kValues = kPaired<Item> ? 2 : 1;
template <class Item> constexpr int64_t items_for(int64_t values) { return (values + kValues<Item> - 1) / kValues<Item>; }

inline Words all(Pair pair) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_set1_epi32(static_cast<int>(pair.bits)));
#else
  return Words{} + pair.bits;
#endif
}

inline Words load(const Pair* from) {
  Words pairs;
  std::memcpy(&pairs, from, sizeof pairs);
  return pairs;
}

inline void store(Pair* to, Words pairs) { std::memcpy(to, &pairs, sizeof pairs); }

inline void store(Pair* to, Words pairs, int count) { store(reinterpret_cast<float*>(to), reinterpret_cast<Floats>(pairs), count); }

template <bool Partial> void store(Pair* to, Words pairs, int count) { Partial ? store(to, pairs, count) : store(to, pairs); }

// Pairs of neighbours as they lie: the first `count` values, and zeros.
inline Words load_neighbours(const bf16* from) { return load(reinterpret_cast<const Pair*>(from)); }

inline Words load_neighbours(const bf16* from, int count) {
#if defined(__AVX512F__)
  const auto mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
  return reinterpret_cast<Words>(_mm512_maskz_loadu_epi16(mask, from));
#else
  Words pairs{};
  std::memcpy(&pairs, from, sizeof(bf16) * static_cast<size_t>(count));
  return pairs;
#endif
}

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

// Pairs of neighbouring lanes, those of the first register before those of the second; rounded.
inline Words as_neighbours(Floats first, Floats second) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<Words>(_mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(second), reinterpret_cast<__m512>(first)));
#else
  const Halves halves[2] = {narrow(first), narrow(second)};
  Words pairs;
  std::memcpy(&pairs, halves, sizeof pairs);
  return pairs;
#endif
}

// Places of 16-bit values, one of the lower half of a register and one of the upper in turn.
struct alignas(sizeof(Words)) HalvesInTurn {
  uint16_t of[2 * kLanes];
};
inline constexpr HalvesInTurn kHalvesInTurn = [] {
  HalvesInTurn places{};
  for (int i = 0; i < 2 * kLanes; ++i) places.of[i] = static_cast<uint16_t>(i / 2 + i % 2 * kLanes);
  return places;
}();

// Lane i pairs lane i of both registers; rounded.
inline Words paired(Floats first, Floats second) {
#if defined(__AVX512BF16__)
  const __m512i places = _mm512_load_si512(kHalvesInTurn.of);
  return reinterpret_cast<Words>(
      _mm512_maskz_permutexvar_epi16(~__mmask32{}, places, reinterpret_cast<__m512i>(as_neighbours(first, second))));
#else
  return lengthened(narrow(first)) | lengthened(narrow(second)) << 16;
#endif
}

// The same, of values that have been loaded from bf16.
inline Words paired_exactly(Floats first, Floats second) {
  return reinterpret_cast<Words>(first) >> 16 | (reinterpret_cast<Words>(second) & 0xffff0000u);
}

// A register of items of values that follow each other in memory: the first `count`, which is at least 1, and zeros.
template <class Item, class T> RegisterOf<Item> load_items(const T* from, int64_t count) {
  if constexpr (kPaired<Item>)
    return count >= 2 * kLanes ? load_neighbours(from) : load_neighbours(from, static_cast<int>(count));
  else
    return count >= kLanes ? load(from) : load(from, static_cast<int>(count));
}

// Rows of values as items, in which the rows' values lie together; rounded.
inline void store_together(float* to, const Floats (&rows)[1]) { store(to, rows[0]); }
inline void store_together(Pair* to, const Floats (&rows)[2]) { store(to, paired(rows[0], rows[1])); }

}  // namespace arbalest::kernels
