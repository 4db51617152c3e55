// The gradient of the weights of a convolution of 3x3, by Winograd's transforms: those of the tiles of gy are the transposes of those that
// give y, and so is that from the sums of products to taps.
#include <omp.h>

#include "cpu/kernels/parallel.h"
#include "cpu/kernels/winograd.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;
using namespace winograd;

// Sums that are kept in registers: of some channels of a block, by a pair of blocks of filters, which share what is loaded of x, or by one.
template <int Filters> constexpr int kChannels = kLanes / Filters;
constexpr int kFilters = kLanes == 16 ? 2 : 1;

// Floats of transformed tiles that are summed together.
constexpr int64_t kFloats = 128 * 1024;
// The sums of all weights, where they are fewer than the transformed tiles so many times.
constexpr int64_t kBlockOfSums = kProducts * kTapSize;

// Sums over `tiles` tiles: of kChannels channels of x by Filters blocks of gy.
template <int Filters, bool Adds>
[[gnu::noinline]] void multiply(const float* x, const float* gy, int64_t block_of_gy, int64_t tiles, float* sums, int64_t filters_of_sums) {
  constexpr int kCount = kChannels<Filters>;
  Floats sum[Filters][kCount] = {};
  const auto for_sums = [&](const auto& body) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int filters = 0; filters < Filters; ++filters) {
#pragma GCC unroll 16
      for (int channel = 0; channel < kCount; ++channel) body(sum[filters][channel], sums + filters * filters_of_sums + channel * kLanes);
    }
  };
  if constexpr (Adds) for_sums([](Floats& each, const float* from) { each = load(from); });
  for (int64_t tile = 0; tile < tiles; ++tile, x += kLanes, gy += kLanes) {
    Floats outputs[Filters];
#pragma GCC unroll 2
    for (int filters = 0; filters < Filters; ++filters) outputs[filters] = in_register(load(gy + filters * block_of_gy));
#pragma GCC unroll 16
    for (int channel = 0; channel < kCount; ++channel) {
      Floats value = all(x[channel]);
      if constexpr (Filters > 1) value = in_register(value);
#pragma GCC unroll 2
      for (int filters = 0; filters < Filters; ++filters) sum[filters][channel] += value * outputs[filters];
    }
  }
  for_sums([](Floats each, float* to) { store(to, each); });
}

// The sums of a block of weights, product by product, as taps.
[[gnu::noinline]] void store_taps(const float* sums, float* taps) {
  for (int channel = 0; channel < kLanes; ++channel, sums += kLanes, taps += kLanes) {
    transform_square<kPatch, kSide, taps_of>(
        [&](int row, int column) __attribute__((always_inline)) { return load(sums + (row * kPatch + column) * kTapSize); },
        [&](int row, int column, Floats value) __attribute__((always_inline)) { store(taps + (row * kSide + column) * kTapSize, value); });
  }
}

class Gradient {
 public:
  Gradient(const Shape& x, const Shape& y)
      : x_(x),
        y_(y),
        tiles_(x_),
        rows_(rows_at_once()),
        x_panel_(x_.blocks, rows_ * tiles_.across),
        y_panel_(y_.blocks, rows_ * tiles_.across) {}

  // Of all threads, and of each.
  int64_t shared() const { return x_panel_.floats() + y_panel_.floats() + (at_once() ? 0 : x_.blocks * y_.blocks * kBlockOfSums); }
  int64_t own() const { return floats_of_row(tiles_) + (at_once() ? kFilters * kBlockOfSums : 0); }

  // Each sum is that of one thread, from the first tile to the last one.
  void run(const float* x, const float* gy, float* gw, float* memory) const {
    float *const x_tiles = memory, *const y_tiles = x_tiles + x_panel_.floats(), *const all_sums = y_tiles + y_panel_.floats();
    const int64_t pairs = (y_.blocks + kFilters - 1) / kFilters;
    for (int64_t first = 0; first < tiles_.rows; first += rows_) {
      const int64_t rows = std::min(rows_, tiles_.rows - first);
      for_each((x_.blocks + y_.blocks) * rows, work(), [&](int64_t item) {
        const int64_t row = first + item % rows, block = item / rows, at = item % rows * tiles_.across * kLanes;
        float* const passing = own_of(memory);
        if (block < x_.blocks)
          transform_row<kPatch, transform_patch>(x_, tiles_, plane_of(x, x_, row, block), row % tiles_.down, passing,
                                                 x_tiles + block * x_panel_.block + at, x_panel_.product);
        else
          transform_row<kTile, transform_outputs>(y_, tiles_, plane_of(gy, y_, row, block - x_.blocks), row % tiles_.down, passing,
                                                  y_tiles + (block - x_.blocks) * y_panel_.block + at, y_panel_.product);
      });
      for_each(pairs * x_.blocks, work(), [&](int64_t item) {
        const int64_t filters = item / x_.blocks * kFilters, channels = item % x_.blocks, end = std::min(filters + kFilters, y_.blocks);
        const auto block_of = [&](int64_t at) { return at * x_.blocks + channels; };
        float* const sums = at_once() ? own_of(memory) + floats_of_row(tiles_) : all_sums + block_of(filters) * kBlockOfSums;
        const int64_t filters_of_sums = at_once() ? kBlockOfSums : x_.blocks * kBlockOfSums;
        const float *of_x = x_tiles + channels * x_panel_.block, *of_y = y_tiles + filters * y_panel_.block;
        const auto multiply_by = [&]<int Filters>() {
          multiply_all<Filters>(of_x, of_y, rows * tiles_.across, first > 0, sums, filters_of_sums);
        };
        if (end - filters == kFilters)
          multiply_by.template operator()<kFilters>();
        else
          multiply_by.template operator()<1>();
        if (first + rows < tiles_.rows) return;
        for (int64_t at = filters; at < end; ++at) store_taps(sums + (at - filters) * filters_of_sums, gw + block_of(at) * kWeightsBlock);
      });
    }
  }

 private:
  // All tiles, unless the sums of all weights are fewer: then some at a time.
  int64_t rows_at_once() const {
    const int64_t of_row = kProducts * (x_.blocks + y_.blocks) * kLanes * tiles_.across, all = of_row * tiles_.rows;
    if (all <= 4 * x_.blocks * y_.blocks * kBlockOfSums) return tiles_.rows;
    return std::clamp<int64_t>(kFloats / of_row, 1, tiles_.rows);
  }

  bool at_once() const { return rows_ == tiles_.rows; }
  int64_t work() const { return x_.images * x_.image() * y_.blocks; }
  float* own_of(float* memory) const { return memory + shared() + omp_get_thread_num() * own(); }

  const float* plane_of(const float* data, const Blocked& shape, int64_t row, int64_t block) const {
    return data + row / tiles_.down * shape.image() + block * shape.plane();
  }

  template <int Filters>
  void multiply_all(const float* x, const float* gy, int64_t tiles, bool more, float* sums, int64_t filters_of_sums) const {
    for (int product = 0; product < kProducts; ++product, x += x_panel_.product, gy += y_panel_.product, sums += kTapSize) {
      for (int channel = 0; channel < kLanes; channel += kChannels<Filters>) {
        if (more)
          multiply<Filters, true>(x + channel, gy, y_panel_.block, tiles, sums + channel * kLanes, filters_of_sums);
        else
          multiply<Filters, false>(x + channel, gy, y_panel_.block, tiles, sums + channel * kLanes, filters_of_sums);
      }
    }
  }

  const Blocked x_, y_;
  const Tiles tiles_;
  const int64_t rows_;  // of tiles that are transformed together
  const Panel x_panel_, y_panel_;
};

size_t floats_of(const Gradient& gradient, int threads) { return static_cast<size_t>(gradient.shared() + threads * gradient.own()); }

class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : x_(input<float>(spec, 0)),
        gy_(input<float>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        y_(spec.inputs[1].shape()),
        gradient_(spec.inputs[0].shape(), spec.inputs[1].shape()),
        memory_(spec, floats_of(gradient_, omp_get_max_threads())) {}

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return floats_of(Gradient(shapes.input(0), shapes.input(1)), 1) * sizeof(float);
  }

  void run(const StepContext&) override {
    gradient_.run(x_, gy_, gw_, &memory_[0]);
    if (gb_) sum_biases(y_, gy_, gb_);
  }

 private:
  const float *x_, *gy_;
  float *gw_, *gb_;  // (O, I, 3, 3) in rows of filters, (O)
  const Blocked y_;
  const Gradient gradient_;
  const PlannedItems<float> memory_;
};

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return winograd::takes(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0), layout);
}

const Registered kRegistered{
    {backward_weights_operator(make_only<BackwardWeights>, takes_weights, kActivations, BackwardWeights::scratch)}};

}  // namespace
}  // namespace arbalest::kernels
