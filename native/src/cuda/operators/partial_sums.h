// Two sums of each channel over each tile of an image, (tiles, C, 2), which a batch norm adds up: of v and v^2 over its inputs v, or of g
// and g (x - mean) over its gradients g. The convolution that writes the image has its numbers in registers. So the batch norm reads the
// image once, and its blocks do not wait for each other. Sums of squares are exact enough: where the mean is 300 times the deviation they
// change the variance by 0.4%, and rounding to bfloat16 has changed it by 20%.
#pragma once

#include "cuda/operators/batch_norm_gradients.h"
#include "cuda/operators/row_tiles.h"

namespace arbalest::cuda {

// Forwards, of V of a convolution's outputs.
template <int V> struct OutputSums {
  struct Values {};
  EVERYWHERE Values load(int64_t) const { return {}; }
  EVERYWHERE Pack<float, V> mean(int) const { return {}; }
  EVERYWHERE TwoSums<V> of(const Pack<Bf16, V>& outputs, const Values&, const Pack<float, V>&) const {
    TwoSums<V> found;
    for (int v = 0; v < V; ++v) {
      found.sum[v] = float(outputs.at[v]);
      found.product[v] = found.sum[v] * found.sum[v];
    }
    return found;
  }
};

// Backwards, of V of a batch norm's gradients.
template <int V> struct GradientSums {
  GradientOperands<Bf16, V> operands;

  using Values = typename GradientOperands<Bf16, V>::Values;
  EVERYWHERE Values load(int64_t pack) const { return operands.load(pack); }
  EVERYWHERE TwoSums<V> of(const Pack<Bf16, V>& gradients, const Values& values, const Pack<float, V>& mean) const {
    const Pack<float, V> g = operands.masked(gradients, values);
    TwoSums<V> found;
    for (int v = 0; v < V; ++v) {
      found.sum[v] = g.at[v];
      found.product[v] = g.at[v] * (float(values.x.at[v]) - mean.at[v]);
    }
    return found;
  }
  // Of V channels from c on.
  EVERYWHERE Pack<float, V> mean(int c) const { return read<float, V>(operands.mean, c / V); }
};

// The most sums of a kind that are given, over tiles and channels: each block of the batch norm reads all of them, and from 1,024 on they
// are more than what it has of the image.
inline constexpr int64_t kMostPartialSums = 4096;

// Throws INVALID_PROGRAM.
inline void check_sums(const OperatorSpec& spec, const Shape& sums, int64_t tiles, int64_t channels) {
  if (sums != Shape{tiles, channels, 2})
    throw Error("INVALID_PROGRAM", spec.kind + ": received sums of shape " + shown(sums) + "; give it two for each tile and channel, " +
                                       shown({tiles, channels, 2}));
}

// Adds up the sums of a block's threads in shared memory. A warp has 16 channels; eight of its lanes have the same four. Neighbouring warps
// have the same group of 16 channels.
struct BlockSums {
  static constexpr int kLanes = 8, kTogether = 4, kEntries = kWarps * kLanes / kTogether;
  float lanes[2][kWarps * kLanes][kTile];
  float entries[2][kEntries][kTile];

  // Columns 2 (lane % 4) and the next one, and those 8 further on, as TileSum has them.
  EVERYWHERE void put(int thread, const TwoSums<2> (&found)[2]) {
    const int warp = thread / 32, lane = thread % 32, at = warp * kLanes + lane / 4;
    for (int half = 0; half < 2; ++half) {
      for (int v = 0; v < 2; ++v) {
        const int column = TileSum::column(lane, half * 4 + v);
        lanes[0][at][column] = found[half].sum[v];
        lanes[1][at][column] = found[half].product[v];
      }
    }
  }

  EVERYWHERE void gather(int thread) {
    const int column = thread % kTile, entry = thread / kTile;
    for (int number = 0; number < 2; ++number) {
      float sum = 0;
      WHOLLY_UNROLLED
      for (int i = 0; i < kTogether; ++i) sum += lanes[number][entry * kTogether + i][column];
      entries[number][entry][column] = sum;
    }
  }

  // Of a column of a group that `warps` warps have.
  EVERYWHERE Pack<float, 2> total(int group, int column, int warps) const {
    constexpr int kOfWarp = kLanes / kTogether;
    Pack<float, 2> sums{};
    for (int entry = group * warps * kOfWarp; entry < (group + 1) * warps * kOfWarp; ++entry) {
      sums.at[0] += entries[0][entry][column];
      sums.at[1] += entries[1][entry][column];
    }
    return sums;
  }
};

}  // namespace arbalest::cuda
