// The gradient of the weights of a convolution of 3x3 in bfloat16, by multiply-adds of pairs: AVX512_BF16 adds the products of two pairs of
// values to a sum. Here a pair is the same pixel of two images. All taps find their pairs whole then, at the edges too, so that each kind
// of activation needs but one panel, and nothing outside of an image is multiplied. An image without a partner is paired with itself:
// its upper rows with its lower ones. There zeros stand for rows outside of the image, which add nothing while all values are finite.
#include "cpu/kernels/convolution_3x3.h"

#if defined(__AVX512BF16__)

#include <algorithm>

#include "cpu/kernels/pairs.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/tiles.h"
#include "cpu/kernels/winograd.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;

// Channels of a block whose sums, for the three taps of a row of the filters, are kept in registers.
constexpr int kChannels = kLanes / 2;
// Pairs of pixels that the nearest cache holds while all taps of a block are summed.
constexpr int64_t kNearPairs = 256;
// Pairs of pixels that are packed before they are multiplied: the second cache holds the panels of a few blocks.
constexpr int64_t kPackedPairs = 512;
// Bytes that a cache fetches at once.
constexpr int64_t kLine = 64;

class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : x_(spec.inputs[0].shape()),
        y_(spec.inputs[1].shape()),
        x_steps_(x_, spec.inputs[0].spec.layout),
        y_steps_(y_, spec.inputs[1].spec.layout),
        from_(input<bf16>(spec, 0)),
        gy_(input<bf16>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        panels_(x_, y_),
        past_caches_(stores_past_caches(gw_, y_.blocks * x_.blocks, couples() * x_.height * x_.width <= kNearPairs)),
        scratch_(spec, panels_.elements) {}

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Panels(Blocked(shapes.input(0)), Blocked(shapes.input(1))).elements * sizeof(Pair);
  }

  // Rows are independent of each other, and so are blocks of weights: threads share them.
  void run(const StepContext&) override {
    const int64_t work = x_.images * x_.image() * y_.blocks, rows = x_.height + 2;
    for (int64_t first = 0; first < couples(); first += panels_.couples) {
      const Range packed = from(first), next = from(packed.end);
      for_each((packed.end - packed.begin) * rows, work, [&](int64_t item) { pack_row(packed.begin, item / rows, item % rows - 1); });
      for_each(x_.blocks * y_.blocks, work, [&](int64_t item) { add_block(item, packed, next); });
    }
    if (gb_) sum_biases(y_, y_steps_, gy_, gb_);
  }

 private:
  struct Range {
    int64_t begin, end;
  };

  // What is summed at once; `more` if the sums have begun.
  struct Share {
    Range couples, rows;
    bool more;
  };

  // The next lines of an activation to fetch: `lines_of_row` of them while each row is multiplied.
  struct Ahead {
    const char* line;
    int64_t lines_of_row;
  };

  // Pairs of pixels by block: of x, with a row above and one below those of gy, and of gy.
  struct Panels {
    int64_t couples, x_plane, y_plane, x_block, y_block, of_gy;
    size_t elements;

    Panels(const Blocked& x, const Blocked& y) {
      couples = std::clamp<int64_t>(kPackedPairs / (x.height * x.width), 1, (x.images + 1) / 2);
      x_plane = (x.height + 2) * x.row();
      y_plane = y.plane();
      x_block = couples * x_plane;
      y_block = couples * y_plane;
      of_gy = x.blocks * x_block;
      elements = static_cast<size_t>(of_gy + y.blocks * y_block);
    }
  };

  int64_t couples() const { return (x_.images + 1) / 2; }

  // As many couples from this one on as are packed together.
  Range from(int64_t couple) const { return {couple, std::min(couple + panels_.couples, couples())}; }

  // Whether it is an image without a partner.
  bool is_alone(int64_t couple) const { return 2 * couple + 1 == x_.images; }

  // Rows of gy that a couple has: an image that is alone has half of them.
  int64_t height_of(int64_t couple) const { return is_alone(couple) ? (x_.height + 1) / 2 : x_.height; }

  // Packs row `row` of x and of gy; `place` is that of the couple among those that are packed together. Of images that pair with each other
  // no tap reaches a row outside.
  void pack_row(int64_t first, int64_t place, int64_t row) const {
    const int64_t couple = first + place, height = height_of(couple);
    const bool inside = row >= 0 && row < height;
    Pair *x = &scratch_[0] + place * panels_.x_plane + (row + 1) * x_.row(),
         *gy = &scratch_[0] + panels_.of_gy + place * panels_.y_plane + row * y_.row();
    if (inside || (is_alone(couple) && row <= height)) pack(x_, x_steps_, from_, couple, row, x, panels_.x_block);
    if (inside) pack(y_, y_steps_, gy_, couple, row, gy, panels_.y_block);
  }

  void pack(const Blocked& shape, const Steps& steps, const bf16* from, int64_t couple, int64_t row, Pair* to, int64_t to_block) const {
    const bool alone = is_alone(couple);
    const Pixels first = pixels(steps, from, 2 * couple, row);
    const Pixels second = alone ? pixels(steps, from, 2 * couple, row + height_of(couple)) : pixels(steps, from, 2 * couple + 1, row);
    for (int64_t block = 0; block < shape.blocks; ++block, to += to_block) {
      const bf16 *a = first.begin + block * first.block, *b = second.begin + block * second.block;
      for (int64_t column = 0; column < shape.width; ++column, a += first.pixel, b += second.pixel) {
        store(to + column * kLanes, paired_exactly(load(a), load(b)));
      }
    }
  }

  // A row of pixels, and how far it is to the next pixel and the next block.
  struct Pixels {
    const bf16* begin;
    int64_t pixel, block;
  };

  // Zeros, where the image has no such row.
  Pixels pixels(const Steps& steps, const bf16* from, int64_t image, int64_t row) const {
    alignas(32) static constexpr bf16 kZeros[kLanes] = {};
    if (row < 0 || row >= x_.height) return {kZeros, 0, 0};
    return {from + image * steps.image + row * steps.row, steps.pixel, steps.block};
  }

  void add_block(int64_t item, Range packed, Range next) const {
    const Pair *x = &scratch_[0] + item % x_.blocks * panels_.x_block,
               *gy = &scratch_[0] + panels_.of_gy + item / x_.blocks * panels_.y_block;
    Ahead ahead_of_x = ahead(x_, from_, next, item), ahead_of_gy = ahead(y_, gy_, next, item);
    float* sums = gw_ + item * kWeightsBlock;
    const int64_t images = std::max<int64_t>(1, kNearPairs / (x_.height * x_.width)), rows = std::max<int64_t>(1, kNearPairs / x_.width);
    for (int64_t couple = packed.begin; couple < packed.end;
         couple += images, x += images * panels_.x_plane, gy += images * panels_.y_plane) {
      for (int64_t row = 0; row < height_of(couple); row += rows) {
        const Share share{{couple, std::min(couple + images, packed.end)}, {row, row + rows}, couple + row > 0};
        for (int kh = 0; kh < kSide; ++kh) {
          float* taps = sums + kh * kSide * kTapSize;
          add_taps(x, gy, share, kh, ahead_of_x, taps);
          add_taps(x + kChannels, gy, share, kh, ahead_of_gy, taps + kChannels * kLanes);
        }
      }
    }
    if (past_caches_) end_stores_past_caches();
  }

  // What a block of weights fetches of these couples: each has its part of them.
  Ahead ahead(const Blocked& shape, const bf16* from, Range couples, int64_t item) const {
    const auto parts = [](int64_t size, int64_t count) { return (size + count - 1) / count; };
    const int64_t begin = std::min(2 * couples.begin, x_.images), end = std::min(2 * couples.end, x_.images);
    const int64_t bytes = (end - begin) * shape.image() * static_cast<int64_t>(sizeof(bf16));
    const int64_t lines = parts(bytes, x_.blocks * y_.blocks * kLine), rows = kSide * panels_.couples * x_.height;
    return {reinterpret_cast<const char*>(from + begin * shape.image()) + item * lines * kLine, parts(lines, rows)};
  }

  // Adds what these rows of gy give to a row of taps, or begins with it.
  [[gnu::noinline]] void add_taps(const Pair* x, const Pair* gy, const Share& share, int kh, Ahead& ahead, float* sums) const {
    Floats sum[kSide][kChannels] = {};
    if (share.more) {
#pragma GCC unroll 3
      for (int kw = 0; kw < kSide; ++kw) {
#pragma GCC unroll 8
        for (int c = 0; c < kChannels; ++c) sum[kw][c] = load(sums + kw * kTapSize + c * kLanes);
      }
    } else if (!past_caches_) {
      for (int kw = 0; kw < kSide; ++kw) {
        for (int c = 0; c < kChannels; ++c) __builtin_prefetch(sums + kw * kTapSize + c * kLanes, 1);
      }
    }
    // A pixel of x lies under the outputs after, at and before its column, for the taps in their order.
    const auto add = [&]<bool After, bool Before>(const Pair* pixel, Words after, Words here, Words before) [[gnu::always_inline]] {
#pragma GCC unroll 8
      for (int c = 0; c < kChannels; ++c) {
        const Words value = in_register(all(pixel[c]));
        if constexpr (After) sum[0][c] = multiply_add(sum[0][c], value, after);
        sum[1][c] = multiply_add(sum[1][c], value, here);
        if constexpr (Before) sum[2][c] = multiply_add(sum[2][c], value, before);
      }
    };
    const int64_t lines = ahead.lines_of_row;
    const char* line = ahead.line;
    for (int64_t couple = share.couples.begin; couple < share.couples.end; ++couple, x += panels_.x_plane, gy += panels_.y_plane) {
      // Row r of gy meets row r + kh - 1 of x, which is one further in the panel.
      const bool alone = is_alone(couple);
      const int64_t begin = std::max<int64_t>(share.rows.begin, alone ? 0 : 1 - kh);
      const int64_t end = std::min(share.rows.end, alone ? height_of(couple) : std::min(x_.height, x_.height + 1 - kh));
      const Pair *pixels = x + (begin + kh) * x_.row(), *outputs = gy + begin * y_.row();
      for (int64_t row = begin; row < end; ++row, pixels += x_.row(), outputs += y_.row()) {
        for (int64_t i = 0; i < lines; ++i, line += kLine) __builtin_prefetch(line, 0, 2);
        Words before = in_register(load(outputs)), here = in_register(load(outputs + kLanes));
        add.template operator()<true, false>(pixels, here, before, before);
        for (int64_t column = 1; column + 1 < x_.width; ++column) {
          const Words after = in_register(load(outputs + (column + 1) * kLanes));
          add.template operator()<true, true>(pixels + column * kLanes, after, here, before);
          before = here;
          here = after;
        }
        add.template operator()<false, true>(pixels + (x_.width - 1) * kLanes, here, here, before);
      }
    }
    ahead.line = line;
    const auto store_sums = [&](const auto& store_one) {
#pragma GCC unroll 3
      for (int kw = 0; kw < kSide; ++kw) {
#pragma GCC unroll 8
        for (int c = 0; c < kChannels; ++c) store_one(sums + kw * kTapSize + c * kLanes, sum[kw][c]);
      }
    };
    if (past_caches_)
      store_sums(store_past_caches);
    else
      store_sums([](float* to, Floats value) { store(to, value); });
  }

  const Blocked x_, y_;
  const Steps x_steps_, y_steps_;
  const bf16 *from_, *gy_;  // (N, I, H, W), (N, O, H, W)
  float *gw_, *gb_;         // (O, I, 3, 3) in rows of filters, (O)
  const Panels panels_;
  const bool past_caches_;
  PlannedItems<Pair> scratch_;
};

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  if (has_tiles() || !has_bfloat16_weights(request)) return false;
  if (winograd::takes_blocks(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0), layout)) return false;
  return layout == "nhwc" || layout == kActivations;
}

const Registered kRegistered{
    {backward_weights_operator({make_only<BackwardWeights>, takes_weights, BackwardWeights::scratch, nullptr, nullptr})}};

}  // namespace
}  // namespace arbalest::kernels

#endif
