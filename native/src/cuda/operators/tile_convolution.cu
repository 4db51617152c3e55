#include "cuda/operators/tile_convolution.h"

#include "cuda/operator_attributes.h"
#include "cuda/operators/partial_sums.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/row_tiles.h"

namespace arbalest::cuda {
namespace {

// Elements of an image, and of a row of it, beyond which it is cuDNN's.
constexpr int64_t kMostOfImage = 16384, kMostOfRow = 1024;

// y = x * w + bias, or the gradient of x, which is the same of gy, spread where the stride is 2, with the taps in reverse. A block computes
// some 16 channels of a tile, a warp 16 of them for 16 pixels. C: channels of its input. kSums: with the sums of each tile, which a batch
// norm wants.
template <int C, bool kBackward, bool kSums> struct TileConvolution {
  // As many as the registers allow: a thread needs more of them for sums, and for a gradient.
  static constexpr int kMinBlocks = 4 - (kSums ? 1 : 0) - (kBackward ? 1 : 0);
  struct Own {};

  const Bf16* x;      // (N, H, W, C)
  const Bf16* w;      // (O, 3, 3, C), backwards (C, 3, 3, O)
  Bf16* y;            // (N, H', W', O)
  const float* bias;  // (O) or null
  bool relu;
  RowTiles tiles;
  int outputs;  // of a block, in groups of 16: as many as its warps need
  float* sums;  // (tiles, O, 2)
  std::conditional_t<kBackward, GradientSums<2>, OutputSums<2>> summed;

  EVERYWHERE int blocks_of_tile() const { return (tiles.out.c / kTile + outputs - 1) / outputs; }
  // In shared memory: forwards a line each output, backwards a line each input.
  EVERYWHERE int line() const { return kGap + (kBackward ? kTaps * kTile * outputs : kTaps * C); }
  EVERYWHERE int lines() const { return kBackward ? C : kTile * outputs; }
  EVERYWHERE size_t shared_bytes() const {
    return static_cast<size_t>(tiles.elements() + lines() * line()) * sizeof(Bf16) +
           static_cast<size_t>(tiles.groups() * kTile) * sizeof(int) + (kSums ? sizeof(BlockSums) : 0);
  }
  EVERYWHERE int phases() const { return kSums ? 4 : 2; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own&) const {
    const int tile = static_cast<int>(block.cluster) / blocks_of_tile(),
              first = static_cast<int>(block.cluster) % blocks_of_tile() * outputs * kTile;
    auto* const image = reinterpret_cast<Bf16*>(block.own());
    Bf16* const weights = image + tiles.elements();
    auto* const places = reinterpret_cast<int*>(weights + lines() * line());
    if (phase == 0) {
      tiles.begin_copies<C, kBackward>(x, tile, image, thread);
      begin_weights(weights, first, thread);
      end_of_copies();
      tiles.find_places(places, thread);
      await_copies<0>();
    } else {
      TwoSums<2> found[2]{};
      if (phase == 1) {
        const Pixels pixels(tiles, tile);
        for (int item = thread / 32; item < tiles.groups() * outputs; item += kWarps)
          compute(image, weights, places, pixels, first, item % tiles.groups(), item / tiles.groups(), thread % 32, found);
      }
      if constexpr (kSums) add_up(phase, *reinterpret_cast<BlockSums*>(places + tiles.groups() * kTile), tile, first, thread, found);
    }
  }

 private:
  EVERYWHERE void add_up(int phase, BlockSums& block_sums, int tile, int first, int thread, const TwoSums<2> (&found)[2]) const {
    if (phase == 1) {
      block_sums.put(thread, found);
    } else if (phase == 2) {
      block_sums.gather(thread);
    } else if (thread < outputs * kTile && first + thread < tiles.out.c) {
      // Either all warps share one group of outputs, or each has one item at most: then groups() neighbouring warps have the same outputs.
      write(sums, static_cast<int64_t>(tile) * tiles.out.c + first + thread,
            block_sums.total(thread / kTile, thread % kTile, outputs == 1 ? kWarps : tiles.groups()));
    }
  }

  EVERYWHERE void begin_weights(Bf16* to, int first, int thread) const {
    if constexpr (kBackward) {
      const int packs = outputs * 2;
      for (int i = thread; i < C * kTaps * packs; i += kThreads) {
        const int pack = i % packs, tap = i / packs % kTaps, c = i / packs / kTaps;
        const bool present = first + pack * 8 < tiles.out.c;
        begin_copy(to + c * line() + (tap * packs + pack) * 8,
                   present ? w + (static_cast<int64_t>(c) * kTaps + tap) * tiles.out.c + first + pack * 8 : w, present);
      }
    } else {
      constexpr int kPacks = kTaps * C / 8;
      for (int i = thread; i < lines() * kPacks; i += kThreads) {
        const int o = i / kPacks, pack = i % kPacks;
        const bool present = first + o < tiles.out.c;
        begin_copy(to + o * line() + pack * 8, present ? w + static_cast<int64_t>(first + o) * kTaps * C + pack * 8 : w, present);
      }
    }
  }

  EVERYWHERE void compute(const Bf16* image, const Bf16* weights, const int* places, const Pixels& pixels, int first, int group, int output,
                          int lane, TwoSums<2> (&found)[2]) const {
    if (first + output * kTile >= tiles.out.c) return;
    const Bf16* const own = weights + output * kTile * (kBackward ? 1 : line());
    const TileLines<Operand::left, Lines::rows> inputs([&](int i) { return image + places[group * kTile + i]; }, lane);
    const TileLines<Operand::right, kBackward ? Lines::rows : Lines::columns> filters([&](int i) { return own + i * line(); }, lane);
    typename decltype(summed)::Values operands[4];
    Pack<float, 2> mean[2];
    if constexpr (kSums) {
      for (int half = 0; half < 2; ++half) mean[half] = summed.mean(first + output * kTile + TileSum::column(lane, half * 4));
      WHOLLY_UNROLLED
      for (int i = 0; i < 8; i += 2)
        if (group * kTile + TileSum::row(lane, i) < pixels.count)
          operands[i / 2] = summed.load(pair_of(pixels, first, group, output, lane, i));
    }
    TileSum sum{};
    WHOLLY_UNROLLED
    for (int tap = 0; tap < kTaps; ++tap) {
      WHOLLY_UNROLLED
      for (int c = 0; c < C; c += kTile) {
        const int of = kBackward ? c * line() + (kTaps - 1 - tap) * kTile * outputs : tap * C + c;
        add_product(sum, inputs.at(tiles.tap(tap) + c), filters.at(of), lane);
      }
    }
    WHOLLY_UNROLLED
    for (int i = 0; i < 8; i += 2) {
      const int pixel = group * kTile + TileSum::row(lane, i), c = first + output * kTile + TileSum::column(lane, i);
      if (pixel >= pixels.count) continue;
      Pack<Bf16, 2> values;
      for (int v = 0; v < 2; ++v) {
        const float value = sum.at[i + v] + (bias ? bias[c + v] : 0.0f);
        values.at[v] = Bf16(relu && value < 0 ? 0.0f : value);
      }
      write(y, pair_of(pixels, first, group, output, lane, i), values);
      if constexpr (kSums) found[i / 4] = found[i / 4] + summed.of(values, operands[i / 2], mean[i / 4]);
    }
  }

  // The place of elements i and i + 1 of a lane's sum among y's pairs.
  EVERYWHERE int64_t pair_of(const Pixels& pixels, int first, int group, int output, int lane, int i) const {
    const int pixel = group * kTile + TileSum::row(lane, i), c = first + output * kTile + TileSum::column(lane, i);
    return ((pixels.first + pixel) * tiles.out.c + c) / 2;
  }
};

// The program for these shapes; its pointers are still null.
template <int C, bool kBackward, bool kSums>
TileConvolution<C, kBackward, kSums> tiled(const Shape& x, const Shape& y, const Attributes& attributes) {
  const Image from(x), to(y);
  const int stride = window_of(attributes, 3, 3).stride[0];
  return with_largest_tiles(256, from, to, kBackward ? 1 : stride, kBackward ? stride - 1 : 0, [&](const RowTiles& tiles) {
    const int outputs = std::clamp(kWarps / tiles.groups(), 1, to.c / kTile);
    return TileConvolution<C, kBackward, kSums>{nullptr, nullptr, nullptr, nullptr, false, tiles, outputs, nullptr, {}};
  });
}

template <bool kBackward, bool kSums>
MadeKernel make_image(const OperatorSpec& spec, const Tensor& x, const Tensor& w, const Tensor& y, DeviceStream& stream) {
  return by_channels(x.shape()[1], [&]<int C>(std::integral_constant<int, C>) {
    auto program = tiled<C, kBackward, kSums>(x.shape(), y.shape(), spec.attributes);
    program.x = x.as<Bf16>();
    program.w = w.as<Bf16>();
    program.y = y.as<Bf16>();
    if constexpr (kSums) {
      check_sums(spec, spec.outputs[1].shape(), program.tiles.count(), y.shape()[1]);
      program.sums = spec.outputs[1].as<float>();
    }
    if constexpr (!kBackward) {
      program.bias = spec.inputs[2].as<float>();
      program.relu = flag(spec.attributes, "relu");
    } else if constexpr (kSums) {
      const Bounds bounds(spec.attributes);
      program.summed.operands = {spec.inputs[2].as<Bf16>(), bounds.relu ? spec.inputs[4].as<Bf16>() : nullptr, spec.inputs[5].as<Bf16>(),
                                 spec.inputs[3].as<float>(), bounds};
    }
    return queued(
        [&stream, program] { clusters(stream, static_cast<int64_t>(program.tiles.count()) * program.blocks_of_tile(), 1, program); });
  });
}

}  // namespace

bool is_tile_convolution(Type precision, const Shape& x, const Shape& w, const Shape& y, const Attributes& attributes) {
  if (precision != Type::bf16 || attributes.number("groups", 1) != 1 || attributes.has("dilation")) return false;
  if (w.at(2) != 3 || w.at(3) != 3) return false;
  const Window window = window_of(attributes, 3, 3);
  const int stride = window.stride[0];
  if (stride != window.stride[1] || stride > 2 || window.padding[0] != 1 || window.padding[1] != 1) return false;
  // A row of a tile's input, its two neighbours and the weights of 16 channels are a block's at least.
  return has_tiles(x.at(1)) && has_tiles(y.at(1)) && x[1] * x[2] * x[3] <= kMostOfImage && x[1] * x[3] <= kMostOfRow;
}

int64_t partial_sums_of_tile_convolution(std::string_view kind, const Shape& x, const Shape& y, const Attributes& attributes) {
  const int64_t count = by_channels(x.at(1), [&]<int C>(std::integral_constant<int, C>) -> int64_t {
    return kind == "conv2d" ? tiled<C, false, true>(x, y, attributes).tiles.count() : tiled<C, true, true>(x, y, attributes).tiles.count();
  });
  return count * y.at(1) <= kMostPartialSums ? count : 0;
}

MadeKernel make_tile_convolution(const OperatorSpec& spec, DeviceStream& stream) {
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  const auto takes = [&](const Tensor& x, const Tensor& w, const Tensor& y) {
    return is_tile_convolution(spec.precision, x.shape(), w.shape(), y.shape(), spec.attributes);
  };
  const auto made = [&]<bool kBackward>(std::bool_constant<kBackward>) {
    return out[1] ? make_image<kBackward, true>(spec, in[0], in[1], out[0], stream)
                  : make_image<kBackward, false>(spec, in[0], in[1], out[0], stream);
  };
  if (spec.kind == "conv2d" && takes(in[0], in[1], out[0])) return made(std::false_type{});
  if (spec.kind == "conv2dBackwardData" && takes(out[0], in[1], in[0])) return made(std::true_type{});
  // By its type, for which lowering has asked.
  if (is_tile_weights_gradient(spec)) return make_tile_weights_gradient(spec, stream);
  return nullptr;
}

}  // namespace arbalest::cuda
