// The gradient of the weights of a convolution of 3x3, by Winograd's transforms: those of the tiles of gy are the transposes of those that
// give y, and so is that from the sums of products to taps.
#include <omp.h>

#include <algorithm>
#include <tuple>

#include "cpu/kernels/parallel.h"
#include "cpu/kernels/winograd.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;
using namespace winograd;

// Sums that are kept in registers: of some channels of a block, by a pair of blocks of filters, which share what is loaded of x, or by one.
template <int Filters> constexpr int kChannels = kLanes / Filters;
constexpr int kFilters = kLanes == 16 ? 2 : 1;

// Floats of transformed tiles that the second cache holds.
constexpr int64_t kTilesFloats = 128 * 1024;
// The sums of a block of weights, by product. Where those of all weights are many beside the tiles, these are transformed all at once.
constexpr int64_t kSumsBlock = kProducts * kTapSize, kManySums = 4;

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

// The sums of a block of weights as taps, which `store_one` stores.
template <class Store> [[gnu::noinline]] void store_taps(const float* sums, float* taps, const Store& store_one) {
  for (int channel = 0; channel < kLanes; ++channel, sums += kLanes, taps += kLanes) {
    transform_square<kPatch, kSide, taps_of>(
        [&](int row, int column) __attribute__((always_inline)) { return load(sums + (row * kPatch + column) * kTapSize); },
        [&](int row, int column, Floats value)
            __attribute__((always_inline)) { store_one(taps + (row * kSide + column) * kTapSize, value); });
  }
}

template <class T> class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.inputs[1].shape()),
        x_(input<T>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        past_caches_(stores_past_caches(gw_, sizes_.x.blocks * sizes_.y.blocks, true)),
        memory_(spec, sizes_.memory(omp_get_max_threads())) {}

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Sizes(shapes.input(0), shapes.input(1)).memory(shapes.threads()) * sizeof(float);
  }

  // Each sum is that of one thread, from the first tile to the last one.
  void run(const StepContext&) override {
    const auto& [x, y, tiles] = std::tie(sizes_.x, sizes_.y, sizes_.tiles);
    for (int64_t first = 0; first < tiles.rows; first += sizes_.rows) {
      const Rows rows{first, std::min(sizes_.rows, tiles.rows - first)};
      for_each((x.blocks + y.blocks) * rows.count, sizes_.work(),
               [&](int64_t item) { transform(item / rows.count, rows, item % rows.count); });
      for_each((y.blocks + kFilters - 1) / kFilters * x.blocks, sizes_.work(), [&](int64_t item) {
        const int64_t filters = item / x.blocks * kFilters, channels = item % x.blocks;
        if (filters + kFilters <= y.blocks)
          add<kFilters>(filters, channels, rows);
        else
          add<1>(filters, channels, rows);
      });
    }
    if (gb_) sum_biases(y, Steps(y, kActivations), gy_, gb_);
  }

 private:
  struct Sizes {
    Blocked x, y;
    Tiles tiles;
    int64_t rows;  // of tiles that are transformed together: all, or, where the sums of all weights are few, some
    Panel of_x, of_y;

    Sizes(const Shape& x_shape, const Shape& y_shape)
        : x(x_shape),
          y(y_shape),
          tiles(x),
          rows(rows_together()),
          of_x(x.blocks, rows * tiles.across),
          of_y(y.blocks, rows * tiles.across) {}

    int64_t rows_together() const {
      const int64_t of_row = kProducts * (x.blocks + y.blocks) * kLanes * tiles.across;
      if (of_row * tiles.rows <= kManySums * all_sums()) return tiles.rows;
      return std::clamp<int64_t>(kTilesFloats / of_row, 1, tiles.rows);
    }

    bool at_once() const { return rows == tiles.rows; }
    int64_t all_sums() const { return x.blocks * y.blocks * kSumsBlock; }

    // Floats for all threads, and for each.
    int64_t shared() const { return of_x.floats() + of_y.floats() + (at_once() ? 0 : all_sums()); }
    int64_t own() const { return floats_of_row(tiles) + (at_once() ? kFilters * kSumsBlock : 0); }
    size_t memory(int threads) const { return static_cast<size_t>(shared() + threads * own()); }

    int64_t work() const { return x.images * x.image() * y.blocks; }
  };

  // Rows of tiles that are transformed together.
  struct Rows {
    int64_t first, count;
  };

  float* x_tiles() const { return &memory_[0]; }
  float* y_tiles() const { return x_tiles() + sizes_.of_x.floats(); }
  float* own() const { return &memory_[0] + sizes_.shared() + omp_get_thread_num() * sizes_.own(); }

  // A row of tiles, of a block of channels of x or, after these, of gy.
  void transform(int64_t block, Rows rows, int64_t at) const {
    const auto& [x, y, tiles] = std::tie(sizes_.x, sizes_.y, sizes_.tiles);
    const int64_t image = (rows.first + at) / tiles.down, row = (rows.first + at) % tiles.down, begin = at * tiles.across * kLanes;
    if (block < x.blocks) {
      const T* plane = x_ + image * x.image() + block * x.plane();
      float* const to = x_tiles() + block * sizes_.of_x.block + begin;
      return transform_row<kPatch, transform_patch>(x, tiles, plane, row, own(), to, sizes_.of_x.product);
    }
    const T* plane = gy_ + image * y.image() + (block - x.blocks) * y.plane();
    float* const to = y_tiles() + (block - x.blocks) * sizes_.of_y.block + begin;
    transform_row<kTile, transform_outputs>(y, tiles, plane, row, own(), to, sizes_.of_y.product);
  }

  // Adds what these tiles give to the weights of a block of channels and Filters blocks of filters.
  template <int Filters> void add(int64_t filters, int64_t channels, Rows rows) const {
    const int64_t tiles = rows.count * sizes_.tiles.across, block = filters * sizes_.x.blocks + channels;
    const int64_t filters_of_sums = sizes_.at_once() ? kSumsBlock : sizes_.x.blocks * kSumsBlock;
    float* const sums = sizes_.at_once() ? own() + floats_of_row(sizes_.tiles) : y_tiles() + sizes_.of_y.floats() + block * kSumsBlock;
    const float *x = x_tiles() + channels * sizes_.of_x.block, *gy = y_tiles() + filters * sizes_.of_y.block;
    const auto multiply_all = [&]<bool Adds>() {
      for (int product = 0; product < kProducts; ++product, x += sizes_.of_x.product, gy += sizes_.of_y.product) {
        for (int channel = 0; channel < kLanes; channel += kChannels<Filters>)
          multiply<Filters, Adds>(x + channel, gy, sizes_.of_y.block, tiles, sums + product * kTapSize + channel * kLanes, filters_of_sums);
      }
    };
    if (rows.first > 0)
      multiply_all.template operator()<true>();
    else
      multiply_all.template operator()<false>();
    if (rows.first + rows.count < sizes_.tiles.rows) return;
    for (int64_t at = 0; at < Filters; ++at) {
      const float* const of_filters = sums + at * filters_of_sums;
      float* const gw = gw_ + (block + at * sizes_.x.blocks) * kWeightsBlock;
      if (past_caches_)
        store_taps(of_filters, gw, store_past_caches);
      else
        store_taps(of_filters, gw, [](float* to, Floats value) { store(to, value); });
    }
    if (past_caches_) end_stores_past_caches();
  }

  const Sizes sizes_;
  const T *x_, *gy_;  // (N, I, H, W), (N, O, H, W) in blocks
  float *gw_, *gb_;   // (O, I, 3, 3) in rows of filters, (O) or null
  const bool past_caches_;
  // The transformed tiles of x and of gy, the sums of all weights where they are kept; then each thread's own.
  const PlannedItems<float> memory_;
};

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return winograd::takes(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0), layout);
}

const Registered kRegistered{
    {backward_weights_operator({make_typed<BackwardWeights>, takes_weights, BackwardWeights<float>::scratch, kMethod})}};

}  // namespace
}  // namespace arbalest::kernels
