#include "cuda/device_backend.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/row_tiles.h"
#include "cuda/operators/tile_convolution.h"

namespace arbalest::cuda {
namespace {

// Tiles that are worth a block of a cluster, and those that one takes at most, one after another.
constexpr int kRounds = 4, kMostRounds = 32;

// The gradient of w, in f32. A cluster has 16 of the outputs; each of its blocks sums every `size`-th tile, a warp every few pixels of it
// for 16 of the inputs and all taps; then the warps' sums are added up, and the blocks', as trees of fixed order.
template <int C> struct TileWeightsGradient {
  static constexpr int kMinBlocks = 2;
  struct Own {
    TileSum sums[kTaps];
  };
  static constexpr int kColumns = C / kTile;         // warps side by side
  static constexpr int kSplits = kWarps / kColumns;  // warps that share pixels
  static constexpr int kSums = kColumns * kTaps * 8 * 32;
  // Tiles under way.
  static constexpr int kAhead = 3;

  const Bf16* x;   // (N, H, W, C)
  const Bf16* gy;  // (N, H', W', O)
  float* gw;       // (O, 3, 3, C)
  RowTiles tiles;
  int rounds;  // the most tiles of a block

  static constexpr int kLine = kTile + kGap;

  EVERYWHERE int stage() const { return tiles.elements() + tiles.groups() * kTile * kLine; }
  EVERYWHERE size_t shared_bytes() const {
    const size_t staged = static_cast<size_t>(stage()) * kAhead * sizeof(Bf16) + static_cast<size_t>(tiles.groups() * kTile) * sizeof(int);
    const size_t summed = size_t{kSums} * sizeof(float) * (kSplits > 2 ? kSplits / 2 : 1);
    return staged > summed ? staged : summed;
  }
  static constexpr int levels() {
    int found = 0;
    for (int split = kSplits / 2; split > 0; split /= 2) ++found;
    return found;
  }
  EVERYWHERE int phases() const { return 1 + rounds + 2 * levels() + 2; }
  EVERYWHERE bool together(int phase) const { return phase == phases() - 2; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own& own) const {
    const int first = static_cast<int>(block.cluster) * kTile;
    if (phase <= rounds) return add_tiles(phase, block, first, thread, own);
    const int warp = thread / 32, split = warp / kColumns, lane = thread % 32, step = phase - rounds - 1;
    auto* const sums = reinterpret_cast<float*>(block.own());
    if (step < 2 * levels()) {
      const int half = kSplits >> (step / 2 + 1), other = split - half;
      if (step % 2 == 0 && other >= 0 && split < 2 * half)
        each_sum(own, warp, lane, [&](float& sum, int at) { sums[other * kSums + at] = sum; });
      if (step % 2 == 1 && other < 0) each_sum(own, warp, lane, [&](float& sum, int at) { sum += sums[split * kSums + at]; });
    } else if (step == 2 * levels()) {
      if (split == 0) each_sum(own, warp, lane, [&](float& sum, int at) { sums[at] = sum; });
    } else {
      for (int at = block.rank * kThreads + thread; at < kSums; at += block.size * kThreads) settle(block, first, at);
    }
  }

 private:
  EVERYWHERE void add_tiles(int phase, const ClusterBlock& block, int first, int thread, Own& own) const {
    if (phase == 0) {
      for (TileSum& sum : own.sums) sum = {};
      tiles.find_places(places(block), thread);
      for (int round = 0; round < kAhead - 1; ++round) begin_copies(round, block, first, thread);
    } else {
      begin_copies(phase + kAhead - 2, block, first, thread);
      if ((phase - 1) * block.size + block.rank < tiles.count()) add(at_stage(phase - 1, block), places(block), thread, own);
    }
    await_copies<kAhead - 2>();
  }

  EVERYWHERE int* places(const ClusterBlock& block) const {
    return reinterpret_cast<int*>(block.own() + static_cast<size_t>(stage()) * kAhead * sizeof(Bf16));
  }

  EVERYWHERE Bf16* at_stage(int round, const ClusterBlock& block) const {
    return reinterpret_cast<Bf16*>(block.own()) + round % kAhead * stage();
  }

  EVERYWHERE void begin_copies(int round, const ClusterBlock& block, int first, int thread) const {
    const int tile = round * block.size + block.rank;
    if (tile < tiles.count()) {
      Bf16 *const image = at_stage(round, block), *const gradients = image + tiles.elements();
      tiles.begin_copies<C, false>(x, tile, image, thread);
      const Pixels pixels(tiles, tile);
      // Registers are the sums'.
      UNROLLED(1)
      for (int i = thread; i < tiles.groups() * kTile * 2; i += kThreads) {
        const int half = i % 2, pixel = i / 2;
        const bool present = pixel < pixels.count;
        begin_copy(gradients + pixel * kLine + half * 8, present ? gy + (pixels.first + pixel) * tiles.out.c + first + half * 8 : gy,
                   present);
      }
    }
    end_of_copies();
  }

  EVERYWHERE void add(const Bf16* image, const int* places_, int thread, Own& own) const {
    const int warp = thread / 32, lane = thread % 32, c = warp % kColumns * kTile;
    const Bf16* const gradients = image + tiles.elements();
    converge_warp();
    UNROLLED(1)
    for (int group = warp / kColumns; group < tiles.groups(); group += kSplits) {
      const TileLines<Operand::left, Lines::columns> outputs([&](int i) { return gradients + (group * kTile + i) * kLine; }, lane);
      const TileLines<Operand::right, Lines::rows> inputs([&](int i) { return image + places_[group * kTile + i] + c; }, lane);
      const auto left = outputs.at(0);
      WHOLLY_UNROLLED
      for (int tap = 0; tap < kTaps; ++tap) add_product(own.sums[tap], left, inputs.at(tiles.tap(tap)), lane);
    }
  }

  // Calls `f` with each of a thread's sums and its place among those of all columns.
  template <class F> EVERYWHERE static void each_sum(Own& own, int warp, int lane, const F& f) {
    WHOLLY_UNROLLED
    for (int tap = 0; tap < kTaps; ++tap) {
      WHOLLY_UNROLLED
      for (int i = 0; i < 8; ++i) f(own.sums[tap].at[i], ((warp % kColumns * kTaps + tap) * 8 + i) * 32 + lane);
    }
  }

  EVERYWHERE void settle(const ClusterBlock& block, int first, int at) const {
    float sum = 0;
    for (int rank = 0; rank < block.size; ++rank) sum += reinterpret_cast<const float*>(block.of(rank))[at];
    const int lane = at % 32, i = at / 32 % 8, tap = at / 256 % kTaps, column = at / 256 / kTaps;
    gw[(static_cast<int64_t>(first + TileSum::row(lane, i)) * kTaps + tap) * C + column * kTile + TileSum::column(lane, i)] = sum;
  }
};

// The program for these shapes; its pointers are still null.
template <int C> TileWeightsGradient<C> tiled(const Shape& x, const Shape& gy, const Attributes& attributes) {
  return with_largest_tiles(256, Image(x), Image(gy), window_of(attributes, 3, 3).stride[0], 0, [](const RowTiles& tiles) {
    return TileWeightsGradient<C>{nullptr, nullptr, nullptr, tiles, 0};
  });
}

}  // namespace

bool takes_weights_gradient(Type precision, const Shape& x, const Shape& w, const Shape& y, const Attributes& attributes) {
  if (!is_tile_convolution(precision, x, w, y, attributes)) return false;
  const int tiles = by_channels(x[1], [&]<int C>(std::integral_constant<int, C>) { return tiled<C>(x, y, attributes).tiles.count(); });
  return tiles <= kMostRounds * kMaxClusterSize;
}

bool is_tile_weights_gradient(const OperatorSpec& spec) {
  return spec.kind == "conv2dBackwardWeights" && spec.precision == Type::bf16 && spec.outputs[0].spec.type == Type::f32;
}

MadeKernel make_tile_weights_gradient(const OperatorSpec& spec, DeviceStream& stream) {
  const Tensor &x = spec.inputs[0], &gy = spec.inputs[1], &gb = spec.outputs[1];
  const int most = stream.backend().max_cluster_size();
  return by_channels(x.shape()[1], [&]<int C>(std::integral_constant<int, C>) {
    auto program = tiled<C>(x.shape(), gy.shape(), spec.attributes);
    program.x = x.as<Bf16>();
    program.gy = gy.as<Bf16>();
    program.gw = spec.outputs[0].as<float>();
    int size = 1;
    while (size < most && size * kRounds < program.tiles.count()) size *= 2;
    program.rounds = (program.tiles.count() + size - 1) / size;
    return queued([&stream, program, size, gy, gb, partials = static_cast<float*>(spec.scratch)] {
      clusters(stream, program.tiles.out.c / kTile, size, program);
      if (gb) queue_bias_gradient(gy, gy.shape()[1], gb.as<float>(), partials, stream);
    });
  });
}

}  // namespace arbalest::cuda
