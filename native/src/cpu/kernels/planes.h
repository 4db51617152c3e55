// Convolutions without padding over planes, one channel after the other as images are stored. The lanes of a register are pixels: filters
// that do not fill registers leave no lane unused. Rows of outputs are a multiple of 8 long, so that a register of outputs has one or two
// pieces of rows, and what they read lies in as many pieces of the rows of x, whichever the tap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/kernels/convolution_sizes.h"
#include "cpu/kernels/pairs.h"

namespace arbalest::kernels::planes {

// Pixels of a piece, and pieces of a register of pixels that are stored as T.
inline constexpr int64_t kPiece = 8;
template <class T> inline constexpr int kPiecesOf = std::max<int>(1, kLanes * sizeof(float) / sizeof(T) / kPiece);
inline constexpr int kPieces = kPiecesOf<float>;

using Sizes = ConvolutionSizes;

// Where the pieces of a register of outputs lie in a plane of x, under the first tap. A last register that is not whole repeats its first
// piece.
template <int Pieces> struct Places { int64_t at[Pieces]; };

template <int Pieces> std::vector<Places<Pieces>> places_of(const Sizes& s) {
  constexpr int64_t kPixels = Pieces * kPiece;
  std::vector<Places<Pieces>> places;
  for (int64_t first = 0; first < s.out_plane(); first += kPixels) {
    Places<Pieces>& next = places.emplace_back();
    for (int i = 0; i < Pieces; ++i) {
      const int64_t pixel = first + i * kPiece < s.out_plane() ? first + i * kPiece : first;
      next.at[i] = pixel / s.out_width * s.width + pixel % s.out_width;
    }
  }
  return places;
}

inline Floats load_pieces(const float* plane, const Places<kPieces>& places) {
#if defined(__AVX512F__)
  const __m512 first = _mm512_castps256_ps512(_mm256_loadu_ps(plane + places.at[0]));
  return reinterpret_cast<Floats>(_mm512_insertf32x8(first, _mm256_loadu_ps(plane + places.at[1]), 1));
#else
  return load(plane + places.at[0]);
#endif
}

inline Words load_pieces(const Pair* plane, const Places<kPieces>& places) {
  return reinterpret_cast<Words>(load_pieces(reinterpret_cast<const float*>(plane), places));
}

inline Words load_pieces(const bf16* plane, const Places<kPiecesOf<bf16>>& places) {
#if defined(__AVX512F__)
  const auto piece = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane + places.at[i])); };
  const auto half = [&](int i) {
    return reinterpret_cast<__m256>(_mm256_inserti128_si256(_mm256_castsi128_si256(piece(i)), piece(i + 1), 1));
  };
  return reinterpret_cast<Words>(_mm512_insertf32x8(_mm512_castps256_ps512(half(0)), half(2), 1));
#else
  Words pairs;
  for (int i = 0; i < kPiecesOf<bf16>; ++i)
    std::memcpy(reinterpret_cast<char*>(&pairs) + i * kPiece * sizeof(bf16), plane + places.at[i], sizeof pairs / kPiecesOf<bf16>);
  return pairs;
#endif
}

// As floats.
inline Floats load_wide_pieces(const float* plane, const Places<kPieces>& places) { return load_pieces(plane, places); }

inline Floats load_wide_pieces(const bf16* plane, const Places<kPieces>& places) {
#if defined(__AVX512F__)
  const auto piece = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane + places.at[i])); };
  return widen(reinterpret_cast<Halves>(_mm256_inserti128_si256(_mm256_castsi128_si256(piece(0)), piece(1), 1)));
#else
  return load(plane + places.at[0]);
#endif
}

inline void store_pieces(float* plane, const Places<kPieces>& places, Floats values) {
  for (int i = 0; i < kPieces; ++i)
    std::memcpy(plane + places.at[i], reinterpret_cast<const char*>(&values) + i * sizeof values / kPieces, sizeof values / kPieces);
}

inline void store_pieces(bf16* plane, const Places<kPieces>& places, Floats values) {
  const Halves halves = narrow(values);
  for (int i = 0; i < kPieces; ++i)
    std::memcpy(plane + places.at[i], reinterpret_cast<const char*>(&halves) + i * sizeof halves / kPieces, sizeof halves / kPieces);
}

inline void add_pieces(float* plane, const Places<kPieces>& places, Floats values) {
#if defined(__AVX512F__)
  const auto add = [](float* to, __m256 piece) { _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), piece)); };
  add(plane + places.at[0], _mm512_maskz_extractf32x8_ps(0xff, reinterpret_cast<__m512>(values), 0));
  add(plane + places.at[1], _mm512_maskz_extractf32x8_ps(0xff, reinterpret_cast<__m512>(values), 1));
#else
  float* const to = plane + places.at[0];
  store(to, load(to) + values);
#endif
}

// The sum of a channel over all images of planes of whole registers: a plane at a time, since a long sum in float is inexact.
template <class T> float sum_of_channel(const T* data, int64_t images, int64_t channels, int64_t pixels, int64_t channel) {
  double total = 0;
  for (int64_t image = 0; image < images; ++image) {
    const T* const plane = data + (image * channels + channel) * pixels;
    Floats sum{};
    for (int64_t at = 0; at < pixels; at += kLanes) sum += load(plane + at);
    total += static_cast<double>(total_of(sum));
  }
  return static_cast<float>(total);
}

}  // namespace arbalest::kernels::planes
