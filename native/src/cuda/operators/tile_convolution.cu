#include "cuda/operators/tile_convolution.h"

#include "cuda/operator_attributes.h"
#include "cuda/operators/queued.h"
#include "cuda/operators/row_tiles.h"

namespace arbalest::cuda {
namespace {

// Elements of an image, and of a row of it, beyond which it is cuDNN's.
constexpr int64_t kMostOfImage = 16384, kMostOfRow = 1024;

// y = x * w + bias, or the gradient of x, which is the same of gy with the taps in reverse. A block computes some 16 channels of a tile, a
// warp 16 of them for 16 pixels. C: channels of its input.
template <int C, bool kBackward> struct TileConvolution {
  static constexpr int kMinBlocks = 4;
  struct Own {};

  const Bf16* x;      // (N, H, W, C)
  const Bf16* w;      // (O, 3, 3, C), backwards (C, 3, 3, O)
  Bf16* y;            // (N, H', W', O)
  const float* bias;  // (O) or null
  bool relu;
  RowTiles tiles;
  int outputs;  // of a block, in groups of 16: as many as its warps need

  EVERYWHERE int blocks_of_tile() const { return (tiles.out.c / kTile + outputs - 1) / outputs; }
  // In shared memory: forwards a line each output, backwards a line each input.
  EVERYWHERE int line() const { return kGap + (kBackward ? kTaps * kTile * outputs : kTaps * C); }
  EVERYWHERE int lines() const { return kBackward ? C : kTile * outputs; }
  EVERYWHERE size_t shared_bytes() const {
    return static_cast<size_t>(tiles.elements() + lines() * line()) * sizeof(Bf16) +
           static_cast<size_t>(tiles.groups() * kTile) * sizeof(int);
  }
  EVERYWHERE int phases() const { return 2; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own&) const {
    const int tile = static_cast<int>(block.cluster) / blocks_of_tile(),
              first = static_cast<int>(block.cluster) % blocks_of_tile() * outputs * kTile;
    auto* const image = reinterpret_cast<Bf16*>(block.own());
    Bf16* const weights = image + tiles.elements();
    auto* const places = reinterpret_cast<int*>(weights + lines() * line());
    if (phase == 0) {
      tiles.begin_copies<C>(x, tile, image, thread);
      begin_weights(weights, first, thread);
      end_of_copies();
      tiles.find_places(places, thread);
      await_copies<0>();
    } else {
      const Pixels pixels(tiles, tile);
      for (int item = thread / 32; item < tiles.groups() * outputs; item += kWarps)
        compute(image, weights, places, pixels, first, item % tiles.groups(), item / tiles.groups(), thread % 32);
    }
  }

 private:
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
                          int lane) const {
    if (first + output * kTile >= tiles.out.c) return;
    const Bf16* const own = weights + output * kTile * (kBackward ? 1 : line());
    const TileLines<Operand::left, Lines::rows> inputs([&](int i) { return image + places[group * kTile + i]; }, lane);
    const TileLines<Operand::right, kBackward ? Lines::rows : Lines::columns> filters([&](int i) { return own + i * line(); }, lane);
    TileSum sum{};
    WHOLLY_UNROLLED
    for (int tap = 0; tap < kTaps; ++tap) {
      WHOLLY_UNROLLED
      for (int c = 0; c < C; c += kTile) {
        const int of = kBackward ? c * line() + (kTaps - 1 - tap) * kTile * outputs : tap * C + c;
        add_product(sum, inputs.at(tiles.tap(tap) + c), filters.at(of), lane);
      }
    }
    for (int i = 0; i < 8; i += 2) {
      const int pixel = group * kTile + TileSum::row(lane, i), c = first + output * kTile + TileSum::column(lane, i);
      if (pixel >= pixels.count) continue;
      Pack<Bf16, 2> values;
      for (int v = 0; v < 2; ++v) {
        const float value = sum.at[i + v] + (bias ? bias[c + v] : 0.0f);
        values.at[v] = Bf16(relu && value < 0 ? 0.0f : value);
      }
      write(y, ((pixels.first + pixel) * tiles.out.c + c) / 2, values);
    }
  }
};

template <bool kBackward>
MadeKernel make_image(const OperatorSpec& spec, const Tensor& x, const Tensor& w, const Tensor& y, DeviceStream& stream) {
  const Image from(x.shape()), to(y.shape());
  const int stride = kBackward ? 1 : window_of(spec.attributes, 3, 3).stride[0];
  return by_channels(from.c, [&]<int C>(std::integral_constant<int, C>) {
    const auto program = with_largest_tiles(256, from, to, stride, [&](const RowTiles& tiles) {
      const int outputs = std::clamp(kWarps / tiles.groups(), 1, to.c / kTile);
      const bool relu = !kBackward && flag(spec.attributes, "relu");
      return TileConvolution<C, kBackward>{x.as<Bf16>(), w.as<Bf16>(), y.as<Bf16>(), kBackward ? nullptr : spec.inputs[2].as<float>(),
                                           relu,         tiles,        outputs};
    });
    return queued(
        [&stream, program] { clusters(stream, static_cast<int64_t>(program.tiles.count()) * program.blocks_of_tile(), 1, program); });
  });
}

bool has_tiles(int64_t channels) { return channels == 16 || channels == 32 || channels == 64; }

}  // namespace

bool is_tile_convolution(std::string_view kind, Type precision, const Shape& x, const Shape& w, const Shape& y,
                         const Attributes& attributes) {
  if (precision != Type::bf16 || attributes.number("groups", 1) != 1 || w.at(2) != 3 || w.at(3) != 3) return false;
  const Window window = window_of(attributes, 3, 3);
  const int stride = window.stride[0];
  if (stride != window.stride[1] || stride > (kind == "conv2dBackwardData" ? 1 : 2) || window.padding[0] != 1 || window.padding[1] != 1)
    return false;
  // A row of a tile's input, its two neighbours and the weights of 16 channels are a block's at least.
  return has_tiles(x.at(1)) && has_tiles(y.at(1)) && x[1] * x[2] * x[3] <= kMostOfImage && x[1] * x[3] <= kMostOfRow;
}

MadeKernel make_tile_convolution(const OperatorSpec& spec, DeviceStream& stream) {
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  const auto takes = [&](const Tensor& x, const Tensor& w, const Tensor& y) {
    return is_tile_convolution(spec.kind, spec.precision, x.shape(), w.shape(), y.shape(), spec.attributes);
  };
  if (spec.kind == "conv2d" && takes(in[0], in[1], out[0])) return make_image<false>(spec, in[0], in[1], out[0], stream);
  if (spec.kind == "conv2dBackwardData" && takes(out[0], in[1], in[0])) return make_image<true>(spec, in[0], in[1], out[0], stream);
  // By its type, for which lowering has asked.
  if (is_tile_weights_gradient(spec)) return make_tile_weights_gradient(spec, stream);
  return nullptr;
}

}  // namespace arbalest::cuda
