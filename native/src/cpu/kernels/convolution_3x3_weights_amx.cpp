// The gradient of the weights of a convolution of 3x3 in bfloat16, by the tiles of AMX: a tile of channels by pixels is multiplied by one
// of pixels by filters. For that x is transposed, and pixels of gy are interleaved in pairs. In both, a zero follows each row and a row of
// zeros each image, so that the outputs that a tap makes of pixels lie side by side, whichever tap it is, and those outside of an image
// count for nothing while all values are finite. Tiles that are not aligned take three times as long to load: so pairs begin with even
// pixels in one panel of gy, and with odd ones in another, and each tap finds its pairs whole in one of them.
#include "cpu/kernels/convolution_3x3.h"

#if defined(__AVX512BF16__)

#include <algorithm>

#include "cpu/kernels/parallel.h"
#include "cpu/kernels/tiles.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;

// Pixels of a tile, its channels or filters, and the elements of a pair of pixels.
constexpr int64_t kPixels = 32, kChannels = 16, kPair = 2 * kChannels;
// Of activations.
constexpr const char* kLayout = "nhwc";
// Images are multiplied together while they have no more pixels than this; a larger one alone.
constexpr int64_t kPixelsTogether = 1024;

struct alignas(64) TileConfiguration {
  uint8_t palette = 1, first_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr TileConfiguration kWholeTiles;

// While it lives, all tiles of this thread have 16 rows of 64 bytes.
class Tiles {
 public:
  [[gnu::target("amx-tile")]] Tiles() { _tile_loadconfig(&kWholeTiles); }
  [[gnu::target("amx-tile")]] ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : x_(spec.inputs[0].shape()),
        y_(spec.inputs[1].shape()),
        from_(input<bf16>(spec, 0)),
        gy_(input<bf16>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        panels_(x_, y_),
        scratch_(spec, panels_.elements),
        pixels_(static_cast<size_t>(panels_.tiles * kPixels), kNone) {
    for (int64_t image = 0, pixel = 0; image < panels_.images; ++image) {
      for (int64_t row = 0; row < x_.height; ++row) {
        for (int64_t column = 0; column < x_.width; ++column)
          pixels_[static_cast<size_t>(((image * (x_.height + 1) + row) * panels_.row) + column)] = pixel++;
      }
    }
  }

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Panels(Blocked(shapes.input(0)), Blocked(shapes.input(1))).elements * sizeof(uint16_t);
  }

  // Blocks of channels, of filters, and of both are independent of each other: threads share them.
  void run(const StepContext&) override {
    const int64_t work = x_.images * x_.image() * y_.blocks;
    for (int64_t image = 0; image < x_.images; image += panels_.images) {
      const int64_t images = std::min(panels_.images, x_.images - image);
      for_each(x_.blocks, work, [&](int64_t block) { transpose_block(block, image, images); });
      for_each(y_.blocks, work, [&](int64_t block) { interleave_block(block, image, images); });
      for_each(x_.blocks * y_.blocks, work, [&](int64_t item) { add_block(item, image > 0); });
    }
    if (gb_) sum_biases(y_, Steps(y_, kLayout), gy_, gb_);
  }

 private:
  // x by channel; then gy by block of filters: the pairs that begin with even pixels, and those with odd ones. Zeros lie around them.
  struct Panels {
    int64_t images, row, tiles, channel, margin, pairs, of_gy;
    size_t elements;

    Panels(const Blocked& x, const Blocked& y) {
      images = std::clamp<int64_t>(kPixelsTogether / (x.height * x.width), 1, x.images);
      row = x.width + 1;
      tiles = (images * (x.height + 1) * row + kPixels - 1) / kPixels;
      channel = tiles * kPixels;
      margin = (row + 2) / 2 * 2;
      pairs = channel / 2 + margin + 1;
      of_gy = x.blocks * kChannels * channel;
      elements = static_cast<size_t>(of_gy + y.blocks * 2 * pairs * kPair);
    }
  };

  static constexpr int64_t kNone = -1;

  // The pixel of `images` that lies at a place of the panels, zeros where there is none; in `from`, pixels lie `step` apart.
  const bf16* pixel_at(int64_t place, const bf16* from, int64_t step, int64_t images) const {
    alignas(64) static constexpr bf16 kZeros[kChannels] = {};
    const int64_t pixel = place >= 0 && place < panels_.tiles * kPixels ? pixels_[static_cast<size_t>(place)] : kNone;
    return pixel != kNone && pixel < images * x_.height * x_.width ? from + pixel * step : kZeros;
  }

  void transpose_block(int64_t block, int64_t first, int64_t images) const {
    const int64_t step = x_.blocks * kChannels;
    const bf16* from = from_ + first * x_.image() + block * kChannels;
    uint16_t* to = &scratch_[0] + block * kChannels * panels_.channel;
    for (int64_t place = 0; place < panels_.channel; place += kPixels) {
      transpose_tile([&](int64_t i) { return loaded(pixel_at(place + i, from, step, images)); }, to + place, panels_.channel);
    }
  }

  static __m256i loaded(const bf16* pixel) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel)); }

  // 32 pixels of 16 channels as 16 rows of pixels. Pairs of channels are exchanged with pixels as if they were floats.
  template <class Pixel> static void transpose_tile(const Pixel& pixel, uint16_t* to, int64_t row) {
    Floats rows[kLanes];
    for (int i = 0; i < kLanes; ++i)
      rows[i] =
          reinterpret_cast<Floats>(_mm512_maskz_inserti64x4(0xff, _mm512_maskz_broadcast_i64x4(0xff, pixel(i)), pixel(i + kLanes), 1));
    transpose(rows);
    for (int i = 0; i < kLanes / 2; ++i) {
      const auto a = reinterpret_cast<Words>(rows[i]), b = reinterpret_cast<Words>(rows[i + kLanes / 2]);
      _mm512_store_si512(to + 2 * i * row, joined(a & 0xffffu, b & 0xffffu));
      _mm512_store_si512(to + (2 * i + 1) * row, joined(a >> 16, b >> 16));
    }
  }

  // Numbers below 65536 as halves, those of a before those of b.
  static __m512i joined(Words a, Words b) {
    const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    const __m512i packed = _mm512_maskz_packus_epi32(~__mmask32{}, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
    return _mm512_maskz_permutexvar_epi64(0xff, order, packed);
  }

  void interleave_block(int64_t block, int64_t first, int64_t images) const {
    const int64_t step = y_.blocks * kChannels;
    const bf16* from = gy_ + first * y_.image() + block * kChannels;
    uint16_t *even = &scratch_[0] + panels_.of_gy + block * 2 * panels_.pairs * kPair, *odd = even + panels_.pairs * kPair;
    const auto filters = [&](int64_t place) { return lengthened(reinterpret_cast<Halves>(loaded(pixel_at(place, from, step, images)))); };
    Words last{};
    for (int64_t pair = 0; pair < panels_.pairs; ++pair, even += kPair) {
      const int64_t place = 2 * pair - panels_.margin;
      const Words first = filters(place);
      if (pair > 0) {
        _mm512_store_si512(odd, reinterpret_cast<__m512i>(last | first << 16));
        odd += kPair;
      }
      last = filters(place + 1);
      _mm512_store_si512(even, reinterpret_cast<__m512i>(first | last << 16));
    }
  }

  void add_block(int64_t item, bool more) const {
    const Tiles tiles;
    // The compiler does not know that tiles read and write memory.
    asm volatile("" : : : "memory");
    const uint16_t* x = &scratch_[0] + item % x_.blocks * kChannels * panels_.channel;
    const uint16_t* gy = &scratch_[0] + panels_.of_gy + item / x_.blocks * 2 * panels_.pairs * kPair;
    float* sums = gw_ + item * kWeightsBlock;
    add_two_rows(x, gy, more, sums);
    add_last_row(x, gy, more, sums + 2 * kSide * kTapSize);
    asm volatile("" : : : "memory");
  }

  // Where the outputs begin that a tap makes of the first tile of pixels.
  const uint16_t* outputs(const uint16_t* gy, int64_t kh, int64_t kw) const {
    const int64_t place = panels_.margin - (kh - 1) * panels_.row - (kw - 1);
    return gy + (place % 2 * panels_.pairs + place / 2) * kPair;
  }

  // Tiles 0 to 5 are the sums of two rows of taps, 6 is of x and 7 of gy.
  void add_two_rows(const uint16_t* x, const uint16_t* gy, bool more, float* sums) const {
    constexpr int kRow = kChannels * sizeof(float);
    if (more) {
      _tile_loadd(0, sums, kRow);
      _tile_loadd(1, sums + kTapSize, kRow);
      _tile_loadd(2, sums + 2 * kTapSize, kRow);
      _tile_loadd(3, sums + 3 * kTapSize, kRow);
      _tile_loadd(4, sums + 4 * kTapSize, kRow);
      _tile_loadd(5, sums + 5 * kTapSize, kRow);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      _tile_zero(4);
      _tile_zero(5);
    }
    const auto channel = static_cast<size_t>(panels_.channel) * sizeof(uint16_t);
    const uint16_t *above0 = outputs(gy, 0, 0), *above1 = outputs(gy, 0, 1), *above2 = outputs(gy, 0, 2);
    const uint16_t *at0 = outputs(gy, 1, 0), *at1 = outputs(gy, 1, 1), *at2 = outputs(gy, 1, 2);
    for (int64_t pixel = 0; pixel < panels_.channel; pixel += kPixels) {
      const int64_t pair = pixel / 2 * kPair;
      _tile_loadd(6, x + pixel, channel);
      _tile_loadd(7, above0 + pair, 64);
      _tile_dpbf16ps(0, 6, 7);
      _tile_loadd(7, above1 + pair, 64);
      _tile_dpbf16ps(1, 6, 7);
      _tile_loadd(7, above2 + pair, 64);
      _tile_dpbf16ps(2, 6, 7);
      _tile_loadd(7, at0 + pair, 64);
      _tile_dpbf16ps(3, 6, 7);
      _tile_loadd(7, at1 + pair, 64);
      _tile_dpbf16ps(4, 6, 7);
      _tile_loadd(7, at2 + pair, 64);
      _tile_dpbf16ps(5, 6, 7);
    }
    _tile_stored(0, sums, kRow);
    _tile_stored(1, sums + kTapSize, kRow);
    _tile_stored(2, sums + 2 * kTapSize, kRow);
    _tile_stored(3, sums + 3 * kTapSize, kRow);
    _tile_stored(4, sums + 4 * kTapSize, kRow);
    _tile_stored(5, sums + 5 * kTapSize, kRow);
  }

  void add_last_row(const uint16_t* x, const uint16_t* gy, bool more, float* sums) const {
    constexpr int kRow = kChannels * sizeof(float);
    if (more) {
      _tile_loadd(0, sums, kRow);
      _tile_loadd(1, sums + kTapSize, kRow);
      _tile_loadd(2, sums + 2 * kTapSize, kRow);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
    }
    const auto channel = static_cast<size_t>(panels_.channel) * sizeof(uint16_t);
    const uint16_t *below0 = outputs(gy, 2, 0), *below1 = outputs(gy, 2, 1), *below2 = outputs(gy, 2, 2);
    for (int64_t pixel = 0; pixel < panels_.channel; pixel += kPixels) {
      const int64_t pair = pixel / 2 * kPair;
      _tile_loadd(6, x + pixel, channel);
      _tile_loadd(3, below0 + pair, 64);
      _tile_dpbf16ps(0, 6, 3);
      _tile_loadd(4, below1 + pair, 64);
      _tile_dpbf16ps(1, 6, 4);
      _tile_loadd(5, below2 + pair, 64);
      _tile_dpbf16ps(2, 6, 5);
    }
    _tile_stored(0, sums, kRow);
    _tile_stored(1, sums + kTapSize, kRow);
    _tile_stored(2, sums + 2 * kTapSize, kRow);
  }

  const Blocked x_, y_;
  const bf16 *from_, *gy_;  // (N, H, W, I), (N, H, W, O)
  float *gw_, *gb_;         // (O, I, 3, 3) in rows of filters, (O)
  const Panels panels_;
  PlannedItems<uint16_t> scratch_;
  std::vector<int64_t> pixels_;  // of the images that are multiplied together, by their places in a panel
};

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return layout == kLayout && has_bfloat16_weights(request) && has_tiles();
}

const Registered kRegistered{
    {backward_weights_operator({make_only<BackwardWeights>, takes_weights, BackwardWeights::scratch, nullptr, kLayout})}};

}  // namespace

}  // namespace arbalest::kernels

#endif
