// The gradient of the weights of a convolution of 3x3 in bfloat16, by the tiles of AMX: a tile of channels by pixels is multiplied by one of
// pixels by filters. x is transposed for it, once as it lies and once for the taps on either side, so that the pixels under one tap always
// lie side by side; pixels of gy are interleaved in pairs.
#include "cpu/kernels/convolution_3x3.h"

#if defined(__AVX512BW__)

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;

// Pixels of a tile, its channels or filters, and its elements.
constexpr int64_t kPixels = 32, kChannels = 16, kTile = kPixels * kChannels;
// Pixels that are multiplied before the sums leave their tiles.
constexpr int64_t kPixelsOfSum = 1024;

// Linux gives a process the tiles when it asks for them.
bool may_use_tiles() {
  static const bool may = [] {
    constexpr int kAskForPermission = 0x1023, kTileData = 18;
    return __builtin_cpu_supports("amx-bf16") && syscall(SYS_arch_prctl, kAskForPermission, kTileData) == 0;
  }();
  return may;
}

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
        scratch_(spec, Panels(x_, y_).items()) {
    for (int64_t pixel = 0; pixel < x_.height * x_.width; pixel += kPixels) {
      uint32_t inside = 0, first = 0, last = 0;
      for (int64_t i = 0; i < kPixels && pixel + i < x_.height * x_.width; ++i) {
        const int64_t column = (pixel + i) % x_.width;
        inside |= 1u << i;
        if (column == 0) first |= 1u << i;
        if (column + 1 == x_.width) last |= 1u << i;
      }
      masks_.push_back({inside, inside & ~first, inside & ~last});
    }
  }

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Panels(Blocked(shapes.input(0)), Blocked(shapes.input(1))).items() * sizeof(uint16_t);
  }

  // Blocks of channels, of filters, and of both are independent of each other: threads share them.
  void run(const StepContext&) override {
    const Panels panels(x_, y_);
    const int64_t work = x_.images * x_.image() * y_.blocks;
    for (int64_t image = 0; image < x_.images; image += panels.images) {
      const int64_t end = std::min(image + panels.images, x_.images);
      for_each(x_.blocks, work, [&](int64_t block) { transpose_block(panels, block, image, end); });
      for_each(y_.blocks, work, [&](int64_t block) { interleave_block(panels, block, image, end); });
      for_each(x_.blocks * y_.blocks, work, [&](int64_t item) { add_block(panels, item, end - image, image > 0); });
    }
    if (gb_) add_biases();
  }

 private:
  // x, (column of taps, channel, image, pixel): each image with a row of zeros before it and one behind it. Behind the last one are zeros for a
  // tile that is not full. Then gy, (block of filters, image, tile).
  struct Panels {
    int64_t images, plane, channel, column, tiles, of_gy;
    size_t elements;

    Panels(const Blocked& x, const Blocked& y) {
      const int64_t pixels = x.height * x.width;
      images = std::clamp<int64_t>(kPixelsOfSum / pixels, 1, x.images);
      plane = pixels + 2 * x.width;
      channel = (images * plane + 2 * kPixels) / kPixels * kPixels;
      column = x.blocks * kChannels * channel;
      tiles = (pixels + kPixels - 1) / kPixels;
      of_gy = kSide * column;
      elements = static_cast<size_t>(of_gy + y.blocks * images * tiles * kTile);
    }

    // With those that may be lost to the alignment of the first one.
    size_t items() const { return elements + kPixels; }
  };

  struct Masks {
    uint32_t inside, after_first, before_last;
  };

  uint16_t* panels_begin() const {
    const auto address = reinterpret_cast<uintptr_t>(&scratch_[0]);
    return &scratch_[0] + ((64 - address % 64) % 64) / sizeof(uint16_t);
  }

  void transpose_block(const Panels& panels, int64_t block, int64_t begin, int64_t end) const {
    const int64_t pixels = x_.height * x_.width, step = x_.blocks * kChannels;
    uint16_t* const middle = panels_begin() + panels.column + block * kChannels * panels.channel;
    for (int64_t image = begin; image < end; ++image) {
      uint16_t* const plane = middle + (image - begin) * panels.plane;
      for (int64_t c = 0; c < kChannels; ++c) {
        uint16_t* const row = plane + c * panels.channel;
        std::fill_n(row, x_.width, 0);
        std::fill_n(row + x_.width + pixels, x_.width, 0);
      }
      const bf16* from = from_ + image * pixels * step + block * kChannels;
      for (int64_t pixel = 0; pixel < pixels; pixel += kPixels)
        transpose_tile(from + pixel * step, step, masks_[pixel / kPixels].inside, plane + x_.width + pixel, panels.channel);
      for (int64_t c = 0; c < kChannels; ++c) shift(panels, plane + c * panels.channel);
    }
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t column = -1; column <= 1; ++column) {
        uint16_t* const row = middle + column * panels.column + c * panels.channel;
        std::fill(row + (end - begin) * panels.plane, row + panels.channel, 0);
      }
    }
  }

  // 16 channels or filters of a pixel, in 8 lanes.
  static __m256i pixel_at(const bf16* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

  // 32 pixels of 16 channels, `step` apart, as 16 rows of pixels. Pairs of channels are exchanged with pixels as if they were floats.
  static void transpose_tile(const bf16* from, int64_t step, uint32_t inside, uint16_t* to, int64_t row) {
    const auto pairs = [&](int64_t pixel) { return inside >> pixel & 1 ? pixel_at(from + pixel * step) : _mm256_setzero_si256(); };
    Floats rows[kLanes];
    for (int i = 0; i < kLanes; ++i)
      rows[i] = reinterpret_cast<Floats>(__builtin_shufflevector(pairs(i), pairs(i + kLanes), 0, 1, 2, 3, 4, 5, 6, 7));
    transpose(rows);
    for (int i = 0; i < kLanes / 2; ++i) {
      const auto a = reinterpret_cast<Words>(rows[i]), b = reinterpret_cast<Words>(rows[i + kLanes / 2]);
      _mm512_mask_storeu_epi16(to + 2 * i * row, inside, joined(a & 0xffffu, b & 0xffffu));
      _mm512_mask_storeu_epi16(to + (2 * i + 1) * row, inside, joined(a >> 16, b >> 16));
    }
  }

  // Numbers below 65536 as halves, those of a before those of b.
  static __m512i joined(Words a, Words b) {
    const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    const __m512i packed = _mm512_maskz_packus_epi32(~__mmask32{}, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b));
    return _mm512_maskz_permutexvar_epi64(0xff, order, packed);
  }

  // A channel of an image for the taps of the first and of the last column: its pixels one further on, and one further back.
  void shift(const Panels& panels, uint16_t* middle) const {
    uint16_t *first = middle - panels.column, *last = middle + panels.column;
    const int64_t pixels = x_.height * x_.width;
    for (uint16_t* panel : {first, last}) {
      std::fill_n(panel, x_.width, 0);
      std::fill_n(panel + x_.width + pixels, x_.width, 0);
    }
    for (size_t tile = 0; tile < masks_.size(); ++tile) {
      const int64_t at = x_.width + static_cast<int64_t>(tile) * kPixels;
      const auto [inside, after_first, before_last] = masks_[tile];
      _mm512_mask_storeu_epi16(first + at, inside, _mm512_maskz_loadu_epi16(after_first, middle + at - 1));
      _mm512_mask_storeu_epi16(last + at, inside, _mm512_maskz_loadu_epi16(before_last, middle + at + 1));
    }
  }

  void interleave_block(const Panels& panels, int64_t block, int64_t begin, int64_t end) const {
    const int64_t pixels = y_.height * y_.width, step = y_.blocks * kChannels;
    uint16_t* to = panels_begin() + panels.of_gy + block * panels.images * panels.tiles * kTile;
    for (int64_t image = begin; image < end; ++image) {
      const bf16* from = gy_ + image * pixels * step + block * kChannels;
      for (int64_t pixel = 0; pixel < panels.tiles * kPixels; pixel += 2, to += 2 * kChannels) {
        const auto filters = [&](int64_t at) {
          return at < pixels ? lengthened(reinterpret_cast<Halves>(pixel_at(from + at * step))) : Words{};
        };
        _mm512_storeu_si512(to, reinterpret_cast<__m512i>(filters(pixel) | filters(pixel + 1) << 16));
      }
    }
  }

  void add_block(const Panels& panels, int64_t item, int64_t images, bool more) const {
    const Tiles tiles;
    // The compiler does not know that tiles read and write memory.
    asm volatile("" : : : "memory");
    const uint16_t* x = panels_begin() + item % x_.blocks * kChannels * panels.channel;
    const uint16_t* gy = panels_begin() + panels.of_gy + item / x_.blocks * panels.images * panels.tiles * kTile;
    float* sums = gw_ + item * kWeightsBlock;
    add_two_rows(panels, x, gy, images, more, sums);
    add_last_row(panels, x + 2 * x_.width, gy, images, more, sums + 2 * kSide * kTapSize);
    asm volatile("" : : : "memory");
  }

  // Tiles 0 to 5 are the sums of two rows of taps, 6 is of x and 7 of gy.
  void add_two_rows(const Panels& panels, const uint16_t* x, const uint16_t* gy, int64_t images, bool more, float* sums) const {
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
    const auto row = static_cast<size_t>(panels.channel) * sizeof(uint16_t);
    for (int64_t image = 0; image < images; ++image) {
      for (int64_t tile = 0; tile < panels.tiles; ++tile, gy += kTile) {
        const uint16_t *above = x + image * panels.plane + tile * kPixels, *at = above + x_.width;
        _tile_loadd(7, gy, 64);
        _tile_loadd(6, above, row);
        _tile_dpbf16ps(0, 6, 7);
        _tile_loadd(6, above + panels.column, row);
        _tile_dpbf16ps(1, 6, 7);
        _tile_loadd(6, above + 2 * panels.column, row);
        _tile_dpbf16ps(2, 6, 7);
        _tile_loadd(6, at, row);
        _tile_dpbf16ps(3, 6, 7);
        _tile_loadd(6, at + panels.column, row);
        _tile_dpbf16ps(4, 6, 7);
        _tile_loadd(6, at + 2 * panels.column, row);
        _tile_dpbf16ps(5, 6, 7);
      }
    }
    _tile_stored(0, sums, kRow);
    _tile_stored(1, sums + kTapSize, kRow);
    _tile_stored(2, sums + 2 * kTapSize, kRow);
    _tile_stored(3, sums + 3 * kTapSize, kRow);
    _tile_stored(4, sums + 4 * kTapSize, kRow);
    _tile_stored(5, sums + 5 * kTapSize, kRow);
  }

  void add_last_row(const Panels& panels, const uint16_t* x, const uint16_t* gy, int64_t images, bool more, float* sums) const {
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
    const auto row = static_cast<size_t>(panels.channel) * sizeof(uint16_t);
    for (int64_t image = 0; image < images; ++image) {
      for (int64_t tile = 0; tile < panels.tiles; ++tile, gy += kTile) {
        const uint16_t* below = x + image * panels.plane + tile * kPixels;
        _tile_loadd(7, gy, 64);
        _tile_loadd(4, below, row);
        _tile_dpbf16ps(0, 4, 7);
        _tile_loadd(5, below + panels.column, row);
        _tile_dpbf16ps(1, 5, 7);
        _tile_loadd(6, below + 2 * panels.column, row);
        _tile_dpbf16ps(2, 6, 7);
      }
    }
    _tile_stored(0, sums, kRow);
    _tile_stored(1, sums + kTapSize, kRow);
    _tile_stored(2, sums + 2 * kTapSize, kRow);
  }

  // A row of outputs at a time, since a long sum in float is inexact.
  void add_biases() const {
    const int64_t filters = y_.blocks * kLanes;
    for (int64_t filter = 0; filter < filters; filter += kLanes) {
      double totals[kLanes] = {};
      const bf16* gy = gy_ + filter;
      for (int64_t row = 0; row < y_.images * y_.height; ++row) {
        Floats sum{};
        for (int64_t column = 0; column < y_.width; ++column, gy += filters) sum += load(gy);
        for (int lane = 0; lane < kLanes; ++lane) totals[lane] += static_cast<double>(sum[lane]);
      }
      for (int lane = 0; lane < kLanes; ++lane) gb_[filter + lane] = static_cast<float>(totals[lane]);
    }
  }

  const Blocked x_, y_;
  const bf16 *from_, *gy_;  // (N, H, W, I), (N, H, W, O)
  float *gw_, *gb_;         // (O, I, 3, 3) in rows of filters, (O)
  PlannedItems<uint16_t> scratch_;
  std::vector<Masks> masks_;  // by tile of an image
};

void check_weights(const Shapes& shapes) {
  const Shape y = result_of(shapes.input(0), shapes.output(0));
  shapes.input_is(1, y);
  if (shapes.has_output(1)) shapes.output_is(1, {y[1]});
}

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return request.precision == Type::bf16 && layout == "nhwc" &&
         has_shapes(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0)) && may_use_tiles();
}

std::unique_ptr<Kernel> make_weights(const OperatorSpec& spec) { return std::make_unique<BackwardWeights>(spec); }

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2dBackwardWeights",
       .inputs = {{"x", activation}, {"gy", activation}},
       .outputs = {{"gw", filters}, {"gb", parameter, true}},
       .check = check_weights,
       .make = make_weights,
       .scratch = BackwardWeights::scratch,
       .takes = takes_weights,
       .layout = "nhwc",
       .filters = kRowsOfFilters},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels

#endif
