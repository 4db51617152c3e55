// The gradient of the weights of a convolution of 3x3, where Winograd's transforms take longer.
#include <algorithm>

#include "cpu/kernels/convolution_3x3.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/winograd.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;

// Channels of a block whose sums, for the three taps of a row of the filters, are kept in registers.
constexpr int kChannels = kLanes / 2;
// Pixels of x and of gy that the nearest cache holds while all taps of a block are summed.
constexpr int64_t kPixels = 256;

class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : x_(spec.inputs[0].shape()),
        y_(spec.inputs[1].shape()),
        from_(input<float>(spec, 0)),
        gy_(input<float>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        past_caches_(stores_past_caches(gw_, y_.blocks * x_.blocks, y_.images * y_.height * y_.width <= kPixels)) {}

  // Each block of weights is summed by one thread, image by image.
  void run(const StepContext&) override {
    const int64_t work = x_.images * x_.image() * y_.blocks;
    for_each(y_.blocks * x_.blocks, work, [&](int64_t item) {
      float* sums = gw_ + item * kWeightsBlock;
      const float *x = from_ + item % x_.blocks * x_.plane(), *gy = gy_ + item / x_.blocks * y_.plane();
      const int64_t images = std::max<int64_t>(1, kPixels / (x_.height * x_.width)), rows = std::max<int64_t>(1, kPixels / x_.width);
      for (int64_t image = 0; image < x_.images; image += images) {
        const Range some{image, std::min(image + images, x_.images)};
        for (int64_t row = 0; row < x_.height; row += rows)
          add_share(x, gy, {some, {row, std::min(row + rows, x_.height)}, image + row > 0}, sums);
      }
      if (past_caches_) end_stores_past_caches();
    });
    if (gb_) sum_biases(y_, Steps(y_, kActivations), gy_, gb_);
  }

 private:
  struct Range {
    int64_t begin, end;
  };

  // What is summed at once; `more` if the sums have begun.
  struct Share {
    Range images, rows;
    bool more;
  };

  void add_share(const float* x, const float* gy, const Share& share, float* sums) const {
    for (int kh = 0; kh < kSide; ++kh) {
      // Row r of gy meets row r + kh - 1 of x.
      const Range inside{std::max<int64_t>(share.rows.begin, 1 - kh), std::min(share.rows.end, x_.height + 1 - kh)};
      for (int channel = 0; channel < kLanes; channel += kChannels)
        add_taps(x + (kh - 1) * x_.row() + channel, gy, {share.images, inside, share.more},
                 sums + kh * kSide * kTapSize + channel * kLanes);
    }
  }

  // Adds what these rows of gy give to a row of taps, or begins with it; `x` is where the row of x lies that meets their first.
  [[gnu::noinline]] void add_taps(const float* x, const float* gy, const Share& share, float* sums) const {
    const auto& [images, rows, more] = share;
    Floats sum[kSide][kChannels] = {};
    if (more) {
#pragma GCC unroll 3
      for (int kw = 0; kw < kSide; ++kw) {
#pragma GCC unroll 8
        for (int c = 0; c < kChannels; ++c) sum[kw][c] = load(sums + kw * kTapSize + c * kLanes);
      }
    }
    // A pixel of x lies under the outputs after, at and before its column, for the taps in their order.
    const auto add = [&]<bool After, bool Before>(const float* pixel, Floats after, Floats here, Floats before) [[gnu::always_inline]] {
#pragma GCC unroll 8
      for (int c = 0; c < kChannels; ++c) {
        const Floats value = in_register(all(pixel[c]));
        if constexpr (After) sum[0][c] += value * after;
        sum[1][c] += value * here;
        if constexpr (Before) sum[2][c] += value * before;
      }
    };
    for (int64_t image = images.begin; image < images.end; ++image) {
      const float *pixels = x + image * x_.image() + rows.begin * x_.row(), *outputs = gy + image * y_.image() + rows.begin * y_.row();
      for (int64_t row = rows.begin; row < rows.end; ++row, pixels += x_.row(), outputs += y_.row()) {
        Floats before = in_register(load(outputs)), here = in_register(load(outputs + kLanes));
        add.template operator()<true, false>(pixels, here, before, before);
        for (int64_t column = 1; column + 1 < x_.width; ++column) {
          const Floats after = in_register(load(outputs + (column + 1) * kLanes));
          add.template operator()<true, true>(pixels + column * kLanes, after, here, before);
          before = here;
          here = after;
        }
        add.template operator()<false, true>(pixels + (x_.width - 1) * kLanes, here, here, before);
      }
    }
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
  const float *from_, *gy_;
  float *gw_, *gb_;  // (O, I, 3, 3) in rows of filters, (O)
  const bool past_caches_;
};

// With AVX2 no register is left beside the sums, and the compiler keeps one of them in memory. There oneDNN is faster, except on the
// smallest images.
bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  const Shape x = shape_at(request.inputs, 0), w = shape_at(request.outputs, 0);
  if (winograd::takes_blocks(request, x, w, layout)) return false;
  return request.precision == Type::f32 && layout == kActivations && has_shapes(request, x, w) && (kLanes == 16 || x[3] <= 4);
}

const Registered kRegistered{{backward_weights_operator({make_only<BackwardWeights>, takes_weights})}};

}  // namespace
}  // namespace arbalest::kernels
