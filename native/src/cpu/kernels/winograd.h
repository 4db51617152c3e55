// Convolutions by Winograd's F(4x4, RxR): a tile of 4x4 outputs of RxR taps takes (R + 3)^2 products of a channel and a filter, where the
// sums of taps take 16 R^2. Along an axis, the outputs of a tile are those of a product of polynomials, of the taps by what the outputs
// need, and this is found from its values at R + 3 points. Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016.
//
// Points are 0, infinity, and some others with their negatives. Those here are exact in float and close to 1: with 3 taps, rounding adds
// about twice what it adds to sums of taps, and with 5 about seven times; with 3 taps and the usual points, 1 and 2, it is four times.
// Barabasz et al., Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks, 2020.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/kernels/convolution_3x3.h"

namespace arbalest::kernels::winograd {

// In the names of implementations: a register holds a pixel of several channels, or of several images.
inline constexpr const char *kMethod = "winograd", *kMethodOfImages = "winograd-of-images";

// Outputs of a tile a side.
inline constexpr int kTile = 4;
// Pixels that they need, which are also the points: each product of a tile has its place in a square of this side.
template <int Taps> inline constexpr int kPatch = kTile + Taps - 1;
template <int Taps> inline constexpr int kProducts = kPatch<Taps>* kPatch<Taps>;

// The points of which the negatives are points too.
template <int Taps> inline constexpr auto kPairedPoints = 0;
template <> inline constexpr auto kPairedPoints<3> = std::array<double, 2>{0.75, 1.5};
template <> inline constexpr auto kPairedPoints<5> = std::array<double, 3>{0.5, 1, 2};

// The numbers of a transform, of the points p that are not 0, not infinite and not negative.
template <int Taps> struct Numbers {
  static constexpr int kPairs = kPatch<Taps> / 2 - 1, kPowers = std::max(Taps, kTile);

  // The coefficients of the product of all (x^2 - p^2), by powers of x^2; and of the product without one of them.
  float all[kPairs + 1], others[kPairs][kPairs];
  // The powers of p, and the same divided by the slope at p of the polynomial that is zero at all finite points; of 0, one over that slope.
  float power[kPairs][kPowers], taps[kPairs][Taps], zero;

  constexpr Numbers() : all{}, others{}, power{}, taps{}, zero{} {
    const auto& points = kPairedPoints<Taps>;
    const auto multiply = [&](int without, float* coefficients) {
      double product[kPairs + 1] = {1};
      for (int i = 0, degree = 0; i < kPairs; ++i) {
        if (i == without) continue;
        for (int k = ++degree; k >= 0; --k) product[k] = (k > 0 ? product[k - 1] : 0) - points[i] * points[i] * product[k];
      }
      for (int k = 0; k < kPairs + (without < 0); ++k) coefficients[k] = static_cast<float>(product[k]);
    };
    multiply(-1, all);
    zero = 1 / all[0];
    for (int i = 0; i < kPairs; ++i) {
      multiply(i, others[i]);
      double divisor = 2 * points[i] * points[i];
      for (int j = 0; j < kPairs; ++j) divisor *= j == i ? 1 : points[i] * points[i] - points[j] * points[j];
      double value = 1;
      for (int k = 0; k < kPowers; ++k, value *= points[i]) {
        power[i][k] = static_cast<float>(value);
        if (k < Taps) taps[i][k] = static_cast<float>(value / divisor);
      }
    }
  }
};

// The transforms of an axis, of vectors. Values at p and at -p are the sum and the difference of an even and an odd part.
template <int Taps> class Axis {
 public:
  static constexpr int kPoints = kPatch<Taps>;

  [[gnu::always_inline]] static void transform_patch(const Floats (&x)[kPoints], Floats (&v)[kPoints]) {
    Floats zero = x[kPoints - 2], infinity = x[kPoints - 1];
#pragma GCC unroll 3
    for (int k = kPairs - 1; k >= 0; --k) {
      zero += kNumbers.all[k] * x[2 * k];
      infinity += kNumbers.all[k] * x[2 * k + 1];
    }
    v[0] = zero;
    v[kPoints - 1] = infinity;
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      Floats even = x[kPoints - 2], odd = x[kPoints - 3];
#pragma GCC unroll 3
      for (int k = 0; k < kPairs - 1; ++k) {
        even += kNumbers.others[i][k] * x[2 * k + 2];
        odd += kNumbers.others[i][k] * x[2 * k + 1];
      }
      v[1 + 2 * i] = even + kNumbers.power[i][1] * odd;
      v[2 + 2 * i] = even - kNumbers.power[i][1] * odd;
    }
  }

  [[gnu::always_inline]] static void transform_taps(const Floats (&w)[Taps], Floats (&u)[kPoints]) {
    u[0] = kNumbers.zero * w[0];
    u[kPoints - 1] = w[Taps - 1];
    spread<Taps>(w, kNumbers.taps, u);
  }

  // The transpose of outputs_of.
  [[gnu::always_inline]] static void transform_outputs(const Floats (&y)[kTile], Floats (&z)[kPoints]) {
    z[0] = y[0];
    z[kPoints - 1] = y[kTile - 1];
    spread<kTile>(y, kNumbers.power, z);
  }

  [[gnu::always_inline]] static void outputs_of(const Floats (&m)[kPoints], Floats (&y)[kTile]) {
    gather<kTile>(m, kNumbers.power, y);
    y[0] += m[0];
    y[kTile - 1] += m[kPoints - 1];
  }

  // The transpose of transform_taps.
  [[gnu::always_inline]] static void taps_of(const Floats (&u)[kPoints], Floats (&w)[Taps]) {
    gather<Taps>(u, kNumbers.taps, w);
    w[0] += kNumbers.zero * u[0];
    w[Taps - 1] += u[kPoints - 1];
  }

 private:
  static constexpr Numbers<Taps> kNumbers{};
  static constexpr int kPairs = Numbers<Taps>::kPairs;

  // The values of a polynomial at the pairs of points.
  template <int Size, int Columns>
  [[gnu::always_inline]] static void spread(const Floats (&from)[Size], const float (&numbers)[kPairs][Columns], Floats (&to)[kPoints]) {
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      Floats even = numbers[i][0] * from[0], odd = numbers[i][1] * from[1];
#pragma GCC unroll 5
      for (int k = 2; k < Size; ++k) (k % 2 == 0 ? even : odd) += numbers[i][k] * from[k];
      to[1 + 2 * i] = even + odd;
      to[2 + 2 * i] = even - odd;
    }
  }

  // Its transpose.
  template <int Size, int Columns>
  [[gnu::always_inline]] static void gather(const Floats (&from)[kPoints], const float (&numbers)[kPairs][Columns], Floats (&to)[Size]) {
#pragma GCC unroll 5
    for (int k = 0; k < Size; ++k) {
#pragma GCC unroll 3
      for (int i = 0; i < kPairs; ++i) {
        const Floats part = k % 2 == 0 ? from[1 + 2 * i] + from[2 + 2 * i] : from[1 + 2 * i] - from[2 + 2 * i];
        to[k] = i == 0 ? numbers[i][k] * part : to[k] + numbers[i][k] * part;
      }
    }
  }
};

// One axis of a transform.
template <int From, int To> using Transform = void(const Floats (&from)[From], Floats (&to)[To]);

// Both axes of a transform: load_one(row, column) -> store_one(row, column, value).
template <int From, int To, Transform<From, To> transform, class Load, class Store>
[[gnu::always_inline]] inline void transform_square(const Load& load_one, const Store& store_one) {
  Floats columns[From][To];
#pragma GCC unroll 8
  for (int column = 0; column < From; ++column) {
    Floats from[From];
#pragma GCC unroll 8
    for (int row = 0; row < From; ++row) from[row] = load_one(row, column);
    transform(from, columns[column]);
  }
#pragma GCC unroll 8
  for (int row = 0; row < To; ++row) {
    Floats from[From], to[To];
#pragma GCC unroll 8
    for (int column = 0; column < From; ++column) from[column] = columns[column][row];
    transform(from, to);
#pragma GCC unroll 8
    for (int column = 0; column < To; ++column) store_one(row, column, to[column]);
  }
}

// Whether a convolution of blocks of channels, 3x3 with stride 1 and padding 1, x (N, I, H, W) by w (O, I, 3, 3), takes less time so than
// by sums of taps.
bool takes_blocks(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout);

}  // namespace arbalest::kernels::winograd
