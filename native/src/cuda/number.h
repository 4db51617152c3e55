// Element types of activations, and packs of them that are read and written at once. Arithmetic is in float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/everywhere.h"
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#else
#include <string>

#include "core/error.h"
#endif

namespace arbalest::cuda {

// bfloat16 as storage: the upper half of a float.
struct Bf16 {
  uint16_t bits;

  Bf16() = default;
  // To the nearest, ties to even; a NaN stays a NaN.
  EVERYWHERE explicit Bf16(float value) {
#if defined(__CUDA_ARCH__)
    bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    const bool nan = (wide & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? (wide >> 16) | 0x40u : (wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
#endif
  }
  EVERYWHERE operator float() const {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(static_cast<uint32_t>(bits) << 16);
#else
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
#endif
  }
};
static_assert(sizeof(Bf16) == 2);

// V neighbouring elements, aligned for a single access. A thread reads at most 16 bytes at once.
template <class T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

template <class T> inline constexpr int kWidest = 16 / sizeof(T);

// The stand-in refuses what a GPU faults at.
EVERYWHERE inline void expect_aligned([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes) {
#if !defined(__CUDACC__)
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    throw Error("INTERNAL", "a kernel: an access of " + std::to_string(bytes) + " bytes is not aligned; report this");
#endif
}

template <class T, int V> EVERYWHERE Pack<T, V> read(const T* tensor, int64_t pack) {
  expect_aligned(tensor, sizeof(Pack<T, V>));
  return reinterpret_cast<const Pack<T, V>*>(tensor)[pack];
}

template <class T, int V> EVERYWHERE void write(T* tensor, int64_t pack, const Pack<T, V>& values) {
  expect_aligned(tensor, sizeof(Pack<T, V>));
  reinterpret_cast<Pack<T, V>*>(tensor)[pack] = values;
}

template <class T, int V> EVERYWHERE Pack<T, V> rounded(const Pack<float, V>& values) {
  Pack<T, V> found;
  WHOLLY_UNROLLED
  for (int v = 0; v < V; ++v) found.at[v] = T(values.at[v]);
  return found;
}

}  // namespace arbalest::cuda
