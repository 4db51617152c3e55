#include "cuda/operators/tile_convolution.h"

#include <algorithm>

#include "cuda/device_backend.h"
#include "cuda/launch.h"
#include "cuda/operator_attributes.h"
#include "cuda/operators/bias.h"
#include "cuda/operators/queued.h"
#include "cuda/tile_product.h"

namespace arbalest::cuda {
namespace {

constexpr int kTaps = 9, kWarps = kThreads / 32;
// Tiles that are worth a block of a cluster.
constexpr int kRounds = 4;
// Between neighbouring lines in shared memory: eight lines then lie in banks of their own.
constexpr int kGap = 8;
// Elements of an image, and of a row of it, beyond which it is cuDNN's.
constexpr int64_t kMostOfImage = 16384, kMostOfRow = 1024;

// Some whole rows of an output image, and the input rows that they are computed from, with a border of zeros.
struct RowTiles {
  Image in, out;
  int stride;
  int rows;       // of the output, in a tile
  int per_image;  // tiles

  // At most `pixels` outputs a tile, or one row.
  RowTiles(const Image& in_, const Image& out_, int stride_, int pixels) : in(in_), out(out_), stride(stride_) {
    rows = std::clamp(pixels / out.w, 1, out.h);
    per_image = (out.h + rows - 1) / rows;
  }

  EVERYWHERE int count() const { return out.n * per_image; }
  EVERYWHERE int groups() const { return (rows * out.w + kTile - 1) / kTile; }
  EVERYWHERE int width() const { return in.w + 2; }
  EVERYWHERE int height() const { return (rows - 1) * stride + 3; }
  // In shared memory, of the input.
  EVERYWHERE int line() const { return in.c + kGap; }
  EVERYWHERE int elements() const { return height() * width() * line(); }
  EVERYWHERE int tap(int t) const { return (t / 3 * width() + t % 3) * line(); }

  // Where the tap (0, 0) of each of the tile's pixels lies there, by the block's threads; of what is no pixel, that of the first.
  EVERYWHERE void find_places(int* places, int thread) const {
    for (int pixel = thread; pixel < groups() * kTile; pixel += kThreads) {
      const int at = pixel < rows * out.w ? pixel : 0;
      places[pixel] = (at / out.w * stride * width() + at % out.w * stride) * line();
    }
  }

  // A row a warp.
  template <int C> EVERYWHERE void begin_copies(const Bf16* x, int tile, Bf16* to, int thread) const {
    constexpr int kPacks = C / 8;
    const int image = tile / per_image, top = tile % per_image * rows * stride - 1;
    for (int line_ = thread / 32; line_ < height(); line_ += kWarps) {
      const int row = top + line_;
      const bool inside = row >= 0 && row < in.h;
      const Bf16* const from = x + in.at(image, inside ? row : 0, 0, 0);
      for (int i = thread % 32; i < width() * kPacks; i += 32) {
        const int pack = i % kPacks, column = i / kPacks - 1;
        const bool present = inside && column >= 0 && column < in.w;
        begin_copy(to + (line_ * width() + column + 1) * (C + kGap) + pack * 8, present ? from + column * C + pack * 8 : x, present);
      }
    }
  }
};

// The output pixels of a tile, which lie one behind the other.
struct Pixels {
  int64_t first;
  int count;

  EVERYWHERE Pixels(const RowTiles& tiles, int tile) {
    const int row = tile % tiles.per_image * tiles.rows, left = tiles.out.h - row;
    first = (static_cast<int64_t>(tile / tiles.per_image) * tiles.out.h + row) * tiles.out.w;
    count = (left < tiles.rows ? left : tiles.rows) * tiles.out.w;
  }
};

// y = x * w + bias, or the gradient of x, which is the same of gy with the taps in reverse. A block computes some 16 channels of a tile, a warp 16 of
// them for 16 pixels. C: channels of its input.
template <int C, bool kBackward> struct TileConvolution {
  static constexpr int kResident = 4;
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
    return static_cast<size_t>(tiles.elements() + lines() * line()) * sizeof(Bf16) + static_cast<size_t>(tiles.groups() * kTile) * sizeof(int);
  }
  EVERYWHERE int phases() const { return 2; }
  EVERYWHERE bool together(int) const { return false; }

  EVERYWHERE void run(int phase, const ClusterBlock& block, int thread, Own&) const {
    const int tile = static_cast<int>(block.cluster) / blocks_of_tile(), first = static_cast<int>(block.cluster) % blocks_of_tile() * outputs * kTile;
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
        begin_copy(to + c * line() + (tap * packs + pack) * 8, present ? w + (static_cast<int64_t>(c) * kTaps + tap) * tiles.out.c + first + pack * 8 : w,
                   present);
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
    WHOLLY_UNROLLED for (int tap = 0; tap < kTaps; ++tap) {
      WHOLLY_UNROLLED for (int c = 0; c < C; c += kTile) {
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

// The gradient of w, in f32. A cluster has 16 of the outputs; each of its blocks sums every `size`-th tile, a warp every few pixels of it for 16 of the
// inputs and all taps; then the warps' sums are added up, and the blocks', as trees of fixed order.
template <int C> struct TileWeightsGradient {
  static constexpr int kResident = 2;
  struct Own { TileSum sums[kTaps]; };
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
      if (step % 2 == 0 && other >= 0 && split < 2 * half) each_sum(own, warp, lane, [&](float& sum, int at) { sums[other * kSums + at] = sum; });
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

  EVERYWHERE int* places(const ClusterBlock& block) const { return reinterpret_cast<int*>(block.own() + static_cast<size_t>(stage()) * kAhead * sizeof(Bf16)); }

  EVERYWHERE Bf16* at_stage(int round, const ClusterBlock& block) const {
    return reinterpret_cast<Bf16*>(block.own()) + round % kAhead * stage();
  }

  EVERYWHERE void begin_copies(int round, const ClusterBlock& block, int first, int thread) const {
    const int tile = round * block.size + block.rank;
    if (tile < tiles.count()) {
      Bf16 *const image = at_stage(round, block), *const gradients = image + tiles.elements();
      tiles.begin_copies<C>(x, tile, image, thread);
      const Pixels pixels(tiles, tile);
      for (int i = thread; i < tiles.groups() * kTile * 2; i += kThreads) {
        const int half = i % 2, pixel = i / 2;
        const bool present = pixel < pixels.count;
        begin_copy(gradients + pixel * kLine + half * 8, present ? gy + (pixels.first + pixel) * tiles.out.c + first + half * 8 : gy, present);
      }
    }
    end_of_copies();
  }

  EVERYWHERE void add(const Bf16* image, const int* places_, int thread, Own& own) const {
    const int warp = thread / 32, lane = thread % 32, c = warp % kColumns * kTile;
    const Bf16* const gradients = image + tiles.elements();
    for (int group = warp / kColumns; group < tiles.groups(); group += kSplits) {
      const TileLines<Operand::left, Lines::columns> outputs([&](int i) { return gradients + (group * kTile + i) * kLine; }, lane);
      const TileLines<Operand::right, Lines::rows> inputs([&](int i) { return image + places_[group * kTile + i] + c; }, lane);
      const auto left = outputs.at(0);
      WHOLLY_UNROLLED for (int tap = 0; tap < kTaps; ++tap) add_product(own.sums[tap], left, inputs.at(tiles.tap(tap)), lane);
    }
  }

  // Calls `f` with each of a thread's sums and its place among those of all columns.
  template <class F> EVERYWHERE static void each_sum(Own& own, int warp, int lane, const F& f) {
    WHOLLY_UNROLLED for (int tap = 0; tap < kTaps; ++tap) {
      WHOLLY_UNROLLED for (int i = 0; i < 8; ++i) f(own.sums[tap].at[i], ((warp % kColumns * kTaps + tap) * 8 + i) * 32 + lane);
    }
  }

  EVERYWHERE void settle(const ClusterBlock& block, int first, int at) const {
    float sum = 0;
    for (int rank = 0; rank < block.size; ++rank) sum += reinterpret_cast<const float*>(block.of(rank))[at];
    const int lane = at % 32, i = at / 32 % 8, tap = at / 256 % kTaps, column = at / 256 / kTaps;
    gw[(static_cast<int64_t>(first + TileSum::row(lane, i)) * kTaps + tap) * C + column * kTile + TileSum::column(lane, i)] = sum;
  }
};

template <class Make> MadeKernel by_channels(int channels, Make&& make) {
  if (channels == 16) return make(std::integral_constant<int, 16>{});
  if (channels == 32) return make(std::integral_constant<int, 32>{});
  return make(std::integral_constant<int, 64>{});
}

// The program of the largest tiles, up to `most` pixels, of which `program_of` makes one that a block's shared memory holds.
template <class ProgramOf> auto with_largest_tiles(int most, const Image& in, const Image& out, int stride, const ProgramOf& program_of) {
  for (int pixels = most;; pixels /= 2) {
    const auto program = program_of(RowTiles(in, out, stride, pixels));
    if (pixels == 1 || program.shared_bytes() <= kMostClusterShared) return program;
  }
}

template <bool kBackward> MadeKernel make_image(const OperatorSpec& spec, const Tensor& x, const Tensor& w, const Tensor& y, DeviceStream& stream) {
  const Image from(x.shape()), to(y.shape());
  const int stride = kBackward ? 1 : window_of(spec.attributes, 3, 3).stride[0];
  return by_channels(from.c, [&]<int C>(std::integral_constant<int, C>) {
    const auto program = with_largest_tiles(256, from, to, stride, [&](const RowTiles& tiles) {
      const int outputs = std::clamp(kWarps / tiles.groups(), 1, to.c / kTile);
      const bool relu = !kBackward && flag(spec.attributes, "relu");
      return TileConvolution<C, kBackward>{
          x.as<Bf16>(), w.as<Bf16>(), y.as<Bf16>(), kBackward ? nullptr : spec.inputs[2].as<float>(), relu, tiles, outputs};
    });
    return queued([&stream, program] { clusters(stream, static_cast<int64_t>(program.tiles.count()) * program.blocks_of_tile(), 1, program); });
  });
}

MadeKernel make_weights_gradient(const OperatorSpec& spec, DeviceStream& stream) {
  const Tensor &x = spec.inputs[0], &gy = spec.inputs[1], &gb = spec.outputs[1];
  const Image from(x.shape()), to(gy.shape());
  const int most = stream.backend().most_of_cluster();
  return by_channels(from.c, [&]<int C>(std::integral_constant<int, C>) {
    auto program = with_largest_tiles(256, from, to, window_of(spec.attributes, 3, 3).stride[0], [&](const RowTiles& tiles) {
      return TileWeightsGradient<C>{x.as<Bf16>(), gy.as<Bf16>(), spec.outputs[0].as<float>(), tiles, 0};
    });
    int size = 1;
    while (size < most && size * kRounds < program.tiles.count()) size *= 2;
    program.rounds = (program.tiles.count() + size - 1) / size;
    return queued([&stream, program, size, gy, gb, partials = static_cast<float*>(spec.scratch)] {
      clusters(stream, program.tiles.out.c / kTile, size, program);
      if (gb) queue_bias_gradient(gy, gy.shape()[1], gb.as<float>(), partials, stream);
    });
  });
}

bool has_tiles(int64_t channels) { return channels == 16 || channels == 32 || channels == 64; }

}  // namespace

bool is_tile_convolution(std::string_view kind, Type precision, const Shape& x, const Shape& w, const Shape& y, const Attributes& attributes) {
  if (precision != Type::bf16 || attributes.number("groups", 1) != 1 || w.at(2) != 3 || w.at(3) != 3) return false;
  const Window window = window_of(attributes, 3, 3);
  const int stride = window.stride[0];
  if (stride != window.stride[1] || stride > (kind == "conv2dBackwardData" ? 1 : 2) || window.padding[0] != 1 || window.padding[1] != 1) return false;
  // A row of a tile's input, its two neighbours and the weights of 16 channels are a block's at least.
  return has_tiles(x.at(1)) && has_tiles(y.at(1)) && x[1] * x[2] * x[3] <= kMostOfImage && x[1] * x[3] <= kMostOfRow;
}

bool is_tile_weights_gradient(const OperatorSpec& spec) {
  return spec.kind == "conv2dBackwardWeights" && spec.precision == Type::bf16 && spec.outputs[0].spec.type == Type::f32;
}

MadeKernel make_tile_convolution(const OperatorSpec& spec, DeviceStream& stream) {
  const std::vector<Tensor>&in = spec.inputs, &out = spec.outputs;
  const auto takes = [&](const Tensor& x, const Tensor& w, const Tensor& y) {
    return is_tile_convolution(spec.kind, spec.precision, x.shape(), w.shape(), y.shape(), spec.attributes);
  };
  if (spec.kind == "conv2d" && takes(in[0], in[1], out[0])) return make_image<false>(spec, in[0], in[1], out[0], stream);
  if (spec.kind == "conv2dBackwardData" && takes(out[0], in[1], in[0])) return make_image<true>(spec, in[0], in[1], out[0], stream);
  // By its type, for which lowering has asked.
  if (is_tile_weights_gradient(spec)) return make_weights_gradient(spec, stream);
  return nullptr;
}

}  // namespace arbalest::cuda
