// The gradient of the weights of a convolution by Winograd's transforms. Tiles of x are transformed as in the forward pass. The other two
// transforms are transposes of those there: gy takes the transpose of what gives y, and the sums take that of what the taps take.
#include <omp.h>

#include <algorithm>
#include <tuple>

#include "cpu/kernels/convolution_in_planes.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/winograd_forms.h"
#include "cpu/kernels/winograd_tiles.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;
using namespace winograd;

// Sums that are kept in registers: of some channels of a block, by a pair of blocks of filters, which share what is loaded of x, or by one.
template <int Filters> constexpr int kChannels = kLanes / Filters;
constexpr int kFilters = kLanes == 16 ? 2 : 1;

// Floats of transformed tiles that the second cache holds.
constexpr int64_t kTilesFloats = 128 * 1024;

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

// The sums between some channels of a block and a block of filters as taps, which `store_one` stores.
template <int Taps, class Store>
[[gnu::noinline]] void store_taps(const float* sums, int64_t channels, float* taps, const Store& store_one) {
  for (int64_t channel = 0; channel < channels; ++channel, sums += kLanes, taps += kLanes) {
    transform_square<kPatch<Taps>, Taps, Axis<Taps>::taps_of>(
        [&](int row, int column) __attribute__((always_inline)) { return load(sums + (row * kPatch<Taps> + column) * kTapSize); },
        [&](int row, int column, Floats value)
            __attribute__((always_inline)) { store_one(taps + (row * Taps + column) * kTapSize, value); });
  }
}

template <class Form> class BackwardWeights final : public Kernel {
 public:
  explicit BackwardWeights(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.inputs[1].shape()),
        x_(spec.inputs[0]),
        gy_(spec.inputs[1]),
        gw_(spec.outputs[0]),
        gb_(output<float>(spec, 1)),
        memory_(spec, sizes_.memory(omp_get_max_threads())) {}

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Sizes(shapes.input(0), shapes.input(1)).memory(shapes.threads()) * sizeof(float);
  }

  // Each sum is that of one thread, from the first tile to the last one.
  void run(const StepContext&) override {
    const auto& [x, y, tiles] = std::tie(sizes_.x, sizes_.y, sizes_.tiles);
    for (int64_t first = 0; first < tiles.rows; first += sizes_.rows) {
      const Range rows{first, std::min(first + sizes_.rows, tiles.rows)};
      const int64_t images = (rows.size() + tiles.down - 1) / tiles.down;
      for_each((x.blocks + y.blocks) * images, sizes_.work(), [&](int64_t item) {
        const int64_t begin = item % images * tiles.down, block = item / images;
        const Range some{first + begin, std::min(first + begin + tiles.down, rows.end)};
        if (block < x.blocks)
          transform<kPatch<kTaps>, Axis<kTaps>::transform_patch>(x_, x, some, block, sizes_.before,
                                                                 at(x_tiles(), sizes_.of_x, block, begin), sizes_.of_x);
        else
          transform<kTile, Axis<kTaps>::transform_outputs>(gy_, y, some, block - x.blocks, 0,
                                                           at(y_tiles(), sizes_.of_y, block - x.blocks, begin), sizes_.of_y);
      });
      for_each((y.blocks + kFilters - 1) / kFilters * x.blocks, sizes_.work(), [&](int64_t item) {
        const int64_t filters = item / x.blocks * kFilters, channels = item % x.blocks;
        if (filters + kFilters <= y.blocks)
          add<kFilters>(filters, channels, rows);
        else
          add<1>(filters, channels, rows);
      });
    }
    if (gb_) gy_.sum_channels(gb_);
  }

 private:
  static constexpr int kTaps = Form::kTaps, kProducts = winograd::kProducts<kTaps>;
  static constexpr int64_t kSumsOfBlock = kProducts * kTapSize;
  using Activation = typename Form::Activation;
  using Gradient = typename Form::Gradient;
  using Panel = winograd::Panel<kTaps>;

  struct Sizes {
    Blocked x, y;
    int64_t channels;
    Tiles tiles;
    int64_t before;  // pixels of a tile before its outputs
    int64_t rows;    // of tiles that are transformed together: all, or, where these
                     // take more than the sums of all weights, some
    Panel of_x, of_y;

    Sizes(const Shape& x_shape, const Shape& y_shape)
        : x(x_shape),
          y(y_shape),
          channels(x_shape[1]),
          tiles(y),
          before((y.height - x.height + kTaps - 1) / 2),
          rows(rows_together()),
          of_x(x.blocks, rows * tiles.across),
          of_y(y.blocks, rows * tiles.across) {}

    int64_t rows_together() const {
      const int64_t of_row = kProducts * (x.blocks + y.blocks) * kLanes * tiles.across;
      // Sums that take more than all tiles would be read and written more often than these.
      if (of_row * tiles.rows <= all_sums()) return tiles.rows;
      const int64_t some = std::clamp<int64_t>(kTilesFloats / of_row, 1, tiles.rows);
      return Form::kWholeImages ? (some + tiles.down - 1) / tiles.down * tiles.down : some;
    }

    bool at_once() const { return rows == tiles.rows; }
    int64_t all_sums() const { return x.blocks * y.blocks * kSumsOfBlock; }

    // Floats for all threads, and for each.
    int64_t shared() const { return of_x.floats() + of_y.floats() + (at_once() ? 0 : all_sums()); }
    int64_t of_thread() const {
      return std::max(floats_of_row<kTaps>(tiles) + std::max(Activation::floats(x), Activation::floats(y)),
                      Gradient::kFloats + (at_once() ? kFilters * kSumsOfBlock : 0));
    }
    size_t memory(int threads) const { return static_cast<size_t>(shared() + threads * of_thread()); }

    int64_t work() const { return x.images * x.image() * y.blocks; }
  };

  float* x_tiles() const { return &memory_[0]; }
  float* y_tiles() const { return x_tiles() + sizes_.of_x.floats(); }
  float* workspace() const { return &memory_[0] + sizes_.shared() + omp_get_thread_num() * sizes_.of_thread(); }
  float* at(float* tiles, const Panel& panel, int64_t block, int64_t row) const {
    return tiles + block * panel.block + row * sizes_.tiles.across * kLanes;
  }

  template <int Size, Transform<Size, kPatch<kTaps>> transform_axis>
  void transform(const Activation& activation, const Blocked& shape, Range rows, int64_t block, int64_t before, float* to,
                 const Panel& panel) const {
    const Tiles& tiles = sizes_.tiles;
    float *const passing = workspace(), *const buffer = passing + floats_of_row<kTaps>(tiles);
    const typename Activation::Pixel* plane = nullptr;
    for (int64_t row = rows.begin; row < rows.end; ++row, to += tiles.across * kLanes) {
      if (row == rows.begin || row % tiles.down == 0) plane = activation.read(row / tiles.down, block, buffer);
      transform_row<kTaps, Size, transform_axis>(RowOfTiles{shape, tiles, plane, row % tiles.down, before}, passing, to, panel.product);
    }
  }

  // Adds what these tiles give to the weights of a block of channels and Filters blocks of filters.
  template <int Filters> void add(int64_t filters, int64_t channels, Range rows) const {
    const int64_t tiles = rows.size() * sizes_.tiles.across, block = filters * sizes_.x.blocks + channels;
    const int64_t filters_of_sums = sizes_.at_once() ? kSumsOfBlock : sizes_.x.blocks * kSumsOfBlock;
    float* const taps = workspace();
    float* const sums = sizes_.at_once() ? taps + Gradient::kFloats : y_tiles() + sizes_.of_y.floats() + block * kSumsOfBlock;
    const float *x = at(x_tiles(), sizes_.of_x, channels, 0), *gy = at(y_tiles(), sizes_.of_y, filters, 0);
    const int64_t count = std::min<int64_t>(kLanes, sizes_.channels - channels * kLanes);
    const auto multiply_all = [&]<bool Adds>() {
      for (int product = 0; product < kProducts; ++product, x += sizes_.of_x.product, gy += sizes_.of_y.product) {
        for (int64_t channel = 0; channel < count; channel += kChannels<Filters>)
          multiply<Filters, Adds>(x + channel, gy, sizes_.of_y.block, tiles, sums + product * kTapSize + channel * kLanes, filters_of_sums);
      }
    };
    if (rows.begin > 0)
      multiply_all.template operator()<true>();
    else
      multiply_all.template operator()<false>();
    if (rows.end < sizes_.tiles.rows) return;
    for (int64_t i = 0; i < Filters; ++i) {
      gw_.write(filters + i, channels, taps,
                [&](float* to, const auto& store_one) { store_taps<kTaps>(sums + i * filters_of_sums, count, to, store_one); });
    }
  }

  const Sizes sizes_;
  const Activation x_, gy_;
  const Gradient gw_;
  float* gb_;  // (O) or null
  // The transformed tiles of x and of gy, the sums of all weights where they are kept; then each thread's own.
  const PlannedItems<float> memory_;
};

template <class T> using WeightsOfBlocks = BackwardWeights<InBlocks<T>>;
template <class T> using WeightsOfPlanes = BackwardWeights<InPlanes<T>>;

bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return takes_blocks(request, shape_at(request.inputs, 0), shape_at(request.outputs, 0), layout);
}

const Registered kRegistered{
    {backward_weights_operator({make_typed<WeightsOfBlocks>, takes_weights, WeightsOfBlocks<float>::scratch, kMethod}),
     planes_weights_operator(
         {make_typed<WeightsOfPlanes>, takes_planes<roles_backward_weights, Way::winograd>, WeightsOfPlanes<float>::scratch, kMethod})}};

}  // namespace
}  // namespace arbalest::kernels
