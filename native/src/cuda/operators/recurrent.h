// What the passes of recurrent layers share. A block has a few samples, whose states stay in its shared memory from the first position to
// the last: small batches are a few blocks, and those of many learners fill the GPU together.
#pragma once

#include <algorithm>
#include <string>

#include "core/attributes.h"
#include "core/error.h"
#include "cuda/launch.h"
#include "cuda/number.h"
#include "cuda/operators/sequence_length.h"

namespace arbalest::cuda {

// Numbers that are kept of each feature for the gradient.
inline constexpr int kKeptGates = 4;

// What a sample carries from position to position needs no reset at those that do not count: they come behind all others, or in reverse
// before.
struct Sequences {
  int samples, length, features;
  bool reverse;
  const float* lengths;  // (N) or null

  Sequences(const Shape& y, const Attributes& attributes, const float* lengths_)
      : samples(static_cast<int>(y[0])),
        length(static_cast<int>(y[1])),
        features(static_cast<int>(y[2])),
        reverse(attributes.number("reverse", 0) != 0),
        lengths(lengths_) {}

  EVERYWHERE int position(int step) const { return reverse ? length - 1 - step : step; }
  EVERYWHERE int64_t at(int sample, int step) const { return static_cast<int64_t>(sample) * length + position(step); }
  EVERYWHERE bool counts(int sample, int step) const { return position(step) < places_of(lengths, sample, length); }
};

// Sums over a common axis for each of `columns` and each of a block's S samples. Where a block has more threads than there are columns,
// several share one, each with a part of the axis.
template <int S> struct StateProducts {
  int columns, depth, parts;

  StateProducts(int columns_, int depth_) : columns(columns_), depth(depth_), parts(std::clamp(kThreads / columns_, 1, depth_)) {}

  EVERYWHERE int numbers() const { return parts * columns * S; }

  // With the factors (depth, S) and the matrix (depth, columns).
  template <class T> EVERYWHERE void run(const float* factors, const T* matrix, float* sums, int thread) const {
    const int share = (depth + parts - 1) / parts;
    for (int work = thread; work < columns * parts; work += kThreads) {
      const int column = work % columns, first = work / columns * share, end = first + share < depth ? first + share : depth;
      Pack<float, S> found{};
      UNROLLED(4)
      for (int k = first; k < end; ++k) {
        const float weight = matrix[static_cast<int64_t>(k) * columns + column];
        const Pack<float, S> values = read<float, S>(factors, k);
        for (int i = 0; i < S; ++i) found.at[i] += weight * values.at[i];
      }
      write(sums, work, found);
    }
  }

  EVERYWHERE float of(const float* sums, int column, int sample) const {
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += sums[(part * columns + column) * S + sample];
    return sum;
  }
};

// Calls `make` with the number of samples of a block: as many as the shared memory holds of a program P<samples>. Throws
// UNSUPPORTED_OPERATOR where that is less than one.
template <template <int> class P, class Make> auto with_samples(int features, Make&& make) {
  if (P<4>::bytes(features) <= kMostClusterShared) return make(std::integral_constant<int, 4>{});
  if (P<1>::bytes(features) <= kMostClusterShared) return make(std::integral_constant<int, 1>{});
  throw Error("UNSUPPORTED_OPERATOR", "features of a recurrent layer: received " + std::to_string(features) +
                                          "; a GPU's kernels hold the states of at most 4096, so give it fewer");
}

}  // namespace arbalest::cuda
