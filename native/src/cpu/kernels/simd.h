// One vector register of floats, in GCC's vector extensions, so that the same source fits every instruction set it is compiled for.
// Storage is f32 or bf16; arithmetic is always in float.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace arbalest::kernels {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
inline constexpr const char* kInstructionSet = "avx512";
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
inline constexpr const char* kInstructionSet = "avx2";
#else
inline constexpr int kLanes = 4;
inline constexpr const char* kInstructionSet = "generic";
#endif

using Floats = float __attribute__((vector_size(kLanes * 4)));
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Halves = uint16_t __attribute__((vector_size(kLanes * 2)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct bf16 {
  uint16_t bits;
};

// A broadcast that loads in place: zeros plus the value would be an addition, as the compiler has to keep the sign of a zero.
inline Floats all(float value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_set1_ps(value));
#elif defined(__AVX2__)
  return reinterpret_cast<Floats>(_mm256_set1_ps(value));
#else
  return Floats{value, value, value, value};
#endif
}
inline Ints all(int32_t value) { return Ints{} + value; }

inline Ints lane_numbers() {
  Ints numbers;
  for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = lane;
  return numbers;
}

inline Floats load(const float* from) {
  Floats value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The value, loaded once into a register: GCC 12 loads it again for each multiply-add that it is a factor of, and loads become the limit.
template <class Register> inline Register in_register(Register value) {
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#elif defined(__SSE2__)
  asm("" : "+x"(value));
#endif
  return value;
}

inline void store(float* to, Floats value) { std::memcpy(to, &value, sizeof value); }

// Exchanges rows and columns: first the quarters of the square, then those of each quarter, down to single lanes.
inline void transpose(Floats (&rows)[kLanes]) {
  const auto exchange = [&]<int Side>() {
    Ints upper, lower;
    for (int lane = 0; lane < kLanes; ++lane) {
      upper[lane] = lane & Side ? kLanes + lane - Side : lane;
      lower[lane] = lane & Side ? kLanes + lane : lane + Side;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i & Side) continue;
      const Floats above = rows[i], below = rows[i + Side];
      rows[i] = __builtin_shuffle(above, below, upper);
      rows[i + Side] = __builtin_shuffle(above, below, lower);
    }
  };
  if constexpr (kLanes > 8) exchange.template operator()<8>();
  if constexpr (kLanes > 4) exchange.template operator()<4>();
  exchange.template operator()<2>();
  exchange.template operator()<1>();
}

// The sum of all lanes, in pairs: a tree rounds less than a chain does, and takes a third of its time.
template <class Register> inline auto total_of(Register values) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) values += __builtin_shuffle(values, lane_numbers() ^ lanes);
  return values[0];
}

// The highest of all lanes, which have no NaN.
inline float highest_lane(Floats values) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) {
    const Floats others = __builtin_shuffle(values, lane_numbers() ^ lanes);
    values = values > others ? values : others;
  }
  return values[0];
}

// Lane i is join() over the lanes of rows[i], in pairs.
template <class Join> inline Floats joined(Floats (&rows)[kLanes], const Join& join) {
  const auto fold = [&]<int Side>() {
    Ints own, other;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int from = lane & Side ? kLanes : 0;
      own[lane] = from + lane;
      other[lane] = from + (lane ^ Side);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Side; ++i)
      rows[i] = join(__builtin_shuffle(rows[i], rows[i + Side], own), __builtin_shuffle(rows[i], rows[i + Side], other));
  };
  if constexpr (kLanes > 8) fold.template operator()<8>();
  if constexpr (kLanes > 4) fold.template operator()<4>();
  fold.template operator()<2>();
  fold.template operator()<1>();
  return rows[0];
}

// Lane i is the sum of the lanes of rows[i].
inline Floats totals_of_each(Floats (&rows)[kLanes]) {
  return joined(rows, [](Floats a, Floats b) { return a + b; });
}

// Lane i is the highest lane of rows[i], which have no NaN.
inline Floats highest_of_each(Floats (&rows)[kLanes]) {
  return joined(rows, [](Floats a, Floats b) { return a > b ? a : b; });
}

// The conversions between 8, 16 and 32 bits are intrinsics because GCC 12 would convert lane by lane. The zeroing forms of AVX-512 avoid a
// false warning about values that are not set.
inline Words lengthened(Halves halves) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(halves)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)));
#else
  return __builtin_convertvector(halves, Words);
#endif
}

inline Halves shortened(Words words) {
#if defined(__AVX512F__)
  return reinterpret_cast<Halves>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(words)));
#elif defined(__AVX2__)
  const __m256i wide = reinterpret_cast<__m256i>(words);
  return reinterpret_cast<Halves>(_mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
#else
  return __builtin_convertvector(words, Halves);
#endif
}

inline Ints lengthened(Bytes bytes) {
#if defined(__AVX512F__)
  return reinterpret_cast<Ints>(_mm512_maskz_cvtepu8_epi32(0xffff, reinterpret_cast<__m128i>(bytes)));
#elif defined(__AVX2__)
  return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(reinterpret_cast<long long>(bytes))));
#else
  return __builtin_convertvector(bytes, Ints);
#endif
}

inline Bytes shortened(Ints values) {
#if defined(__AVX512F__)
  return reinterpret_cast<Bytes>(_mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(values)));
#elif defined(__AVX2__)
  const __m256i wide = reinterpret_cast<__m256i>(values);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  return reinterpret_cast<Bytes>(_mm_cvtsi128_si64(_mm_packus_epi16(halves, halves)));
#else
  return __builtin_convertvector(values, Bytes);
#endif
}

inline Floats widen(Halves halves) { return reinterpret_cast<Floats>(lengthened(halves) << 16); }

// Rounds to nearest even; a NaN stays a NaN. Numbers below the normal range may become zeros.
inline Halves narrow(Floats value) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(value)));
#else
  const Words bits = reinterpret_cast<Words>(value);
  const Words rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const Words kept = value == value ? rounded : (bits | 0x400000u);
  return shortened(kept >> 16);
#endif
}

inline Floats load(const bf16* from) {
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  return widen(halves);
}

inline void store(bf16* to, Floats value) {
  const Halves halves = narrow(value);
  std::memcpy(to, &halves, sizeof halves);
}

inline Ints load(const uint8_t* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return lengthened(bytes);
}

// Values of at most 255.
inline void store(uint8_t* to, Ints value) {
  const Bytes bytes = shortened(value);
  std::memcpy(to, &bytes, sizeof bytes);
}

// The first `count` lanes, in [0, kLanes]; the others are zero when loaded and left alone in memory when stored.
inline Floats load(const float* from, int count) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1u), from));
#elif defined(__AVX2__)
  return reinterpret_cast<Floats>(_mm256_maskload_ps(from, reinterpret_cast<__m256i>(lane_numbers() < count)));
#else
  Floats value{};
  std::memcpy(&value, from, sizeof(float) * static_cast<size_t>(count));
  return value;
#endif
}

inline void store(float* to, Floats value, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1u), reinterpret_cast<__m512>(value));
#elif defined(__AVX2__)
  // In halves: a masked store costs Zen processors some forty operations.
  __m128 part = _mm256_castps256_ps128(reinterpret_cast<__m256>(value));
  if (count & 8) return store(to, value);
  if (count & 4) {
    _mm_storeu_ps(to, part);
    part = _mm256_extractf128_ps(reinterpret_cast<__m256>(value), 1);
    to += 4;
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
    part = _mm_movehl_ps(part, part);
    to += 2;
  }
  if (count & 1) _mm_store_ss(to, part);
#else
  std::memcpy(to, &value, sizeof(float) * static_cast<size_t>(count));
#endif
}

inline Floats load(const bf16* from, int count) {
#if defined(__AVX512F__)
  return widen(reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << count) - 1u), from)));
#else
  Halves halves{};
  std::memcpy(&halves, from, sizeof(bf16) * static_cast<size_t>(count));
  return widen(halves);
#endif
}

inline void store(bf16* to, Floats value, int count) {
  const Halves halves = narrow(value);
#if defined(__AVX512F__)
  _mm256_mask_storeu_epi16(to, static_cast<__mmask16>((1u << count) - 1u), reinterpret_cast<__m256i>(halves));
#else
  std::memcpy(to, &halves, sizeof(bf16) * static_cast<size_t>(count));
#endif
}

inline Ints load(const uint8_t* from, int count) {
#if defined(__AVX512F__)
  return lengthened(reinterpret_cast<Bytes>(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << count) - 1u), from)));
#else
  Bytes bytes{};
  std::memcpy(&bytes, from, static_cast<size_t>(count));
  return lengthened(bytes);
#endif
}

inline void store(uint8_t* to, Ints value, int count) {
  const Bytes bytes = shortened(value);
#if defined(__AVX512F__)
  _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << count) - 1u), reinterpret_cast<__m128i>(bytes));
#else
  std::memcpy(to, &bytes, static_cast<size_t>(count));
#endif
}

// Whole vectors if `Partial` is false: then `count` is ignored.
template <bool Partial, class T> inline auto load(const T* from, int count) {
  if constexpr (Partial)
    return load(from, count);
  else
    return load(from);
}

template <bool Partial, class T, class Vector> inline void store(T* to, Vector value, int count) {
  if constexpr (Partial)
    store(to, value, count);
  else
    store(to, value);
}

inline float to_float(float value) { return value; }

inline float to_float(bf16 value) {
  const uint32_t bits = uint32_t{value.bits} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

template <class T> inline T from_float(float value);

template <> inline float from_float<float>(float value) { return value; }

template <> inline bf16 from_float<bf16>(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return {static_cast<uint16_t>((bits | 0x400000u) >> 16)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// max(0, value); a NaN stays a NaN, so that a diverged model shows in its loss: the instruction gives its second operand then.
inline Floats rectified(Floats value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(Floats{}), reinterpret_cast<__m512>(value)));
#elif defined(__AVX2__)
  return reinterpret_cast<Floats>(_mm256_max_ps(reinterpret_cast<__m256>(Floats{}), reinterpret_cast<__m256>(value)));
#else
  return 0.0f > value ? Floats{} : value;
#endif
}

// min(most, max(0, value)); a NaN stays a NaN.
inline Floats rectified(Floats value, float most) {
  value = rectified(value);
  return value > most ? all(most) : value;
}

// Keeps `value` where `y` is positive: the gradient of rectified().
inline Floats where_positive(Floats y, Floats value) { return y > 0.0f ? value : Floats{}; }

// Keeps `value` where `y` is positive and below `most`: the gradient of the bounded one.
inline Floats where_within(Floats y, float most, Floats value) { return (y > 0.0f) & (y < most) ? value : Floats{}; }

inline Floats square_root(Floats value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(value)));
#elif defined(__AVX2__)
  return reinterpret_cast<Floats>(_mm256_sqrt_ps(reinterpret_cast<__m256>(value)));
#else
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = __builtin_sqrtf(value[lane]);
  return value;
#endif
}

// To 14 bits: enough for what is rounded to bfloat16.
inline Floats rough_reciprocal(Floats value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_maskz_rcp14_ps(0xffff, reinterpret_cast<__m512>(value)));
#else
  return 1.0f / value;
#endif
}

// 1 / value to about 1 unit in the last place, for finite values that have a normal reciprocal; a NaN stays a NaN.
inline Floats reciprocal(Floats value) {
#if defined(__AVX512F__)
  // A step of Newton's method after the first 14 bits: a division takes some ten times as long.
  const Floats first = rough_reciprocal(value);
  return first + first * (1.0f - value * first);
#else
  return 1.0f / value;
#endif
}

// Into [-limit, limit]; a NaN stays a NaN.
inline Floats clamped(Floats value, float limit) {
  value = value > limit ? all(limit) : value;
  return value < -limit ? all(-limit) : value;
}

// Whether any lane of a comparison's result is set.
inline bool any(Ints lanes) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(lanes)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps(reinterpret_cast<__m256>(lanes)) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_ps(reinterpret_cast<__m128>(lanes)) != 0;
#else
  int32_t set = 0;
  for (int lane = 0; lane < kLanes; ++lane) set |= lanes[lane];
  return set != 0;
#endif
}

inline bool any(bool lane) { return lane; }

// The upper and lower halves of the products with a number.
struct Products32 {
  Words high, low;
};

inline Products32 multiply(Words words, uint32_t factor) {
  using Longs = uint64_t __attribute__((vector_size(kLanes * 4)));
  const Longs pairs = reinterpret_cast<Longs>(words), factors = Longs{} + factor;
  const auto times = [&](Longs a) {
#if defined(__AVX512F__)
    return reinterpret_cast<Longs>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(factors)));
#elif defined(__AVX2__)
    return reinterpret_cast<Longs>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(factors)));
#elif defined(__SSE2__)
    return reinterpret_cast<Longs>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(factors)));
#else
    return (a & 0xffffffffu) * factors;
#endif
  };
  constexpr uint64_t kUpper = 0xffffffff00000000u;
  const Longs even = times(pairs), odd = times(pairs >> 32);
  return {reinterpret_cast<Words>((even >> 32) | (odd & kUpper)), reinterpret_cast<Words>((even & ~kUpper) | (odd << 32))};
}

// The sum of all lanes, in a fixed order.
inline double sum_of(Floats value) {
  double sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(value[lane]);
  return sum;
}

}  // namespace arbalest::kernels
