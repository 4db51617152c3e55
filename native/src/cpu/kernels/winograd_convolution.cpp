// y of a convolution by Winograd's transforms, and the gradient of its x: that is the convolution of the gradient of y with each filter
// turned around.
#include <omp.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "cpu/kernels/convolution_in_planes.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/winograd_forms.h"
#include "cpu/kernels/winograd_tiles.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;
using namespace winograd;

// Blocks of filters that are multiplied together, so that each value that is loaded of a tile serves both.
constexpr int kFilters = 2;
// Tiles whose sums are kept in registers.
template <int Filters> constexpr int kSums = (kLanes == 16 ? 28 : 12) / Filters;

// Floats of transformed tiles that the second cache holds beside transformed weights.
constexpr int64_t kTilesFloats = 32 * 1024;
// Blocks of channels whose transformed weights it holds beside transformed tiles.
constexpr int64_t kBlocksAtOnce = 64 / kLanes;

// What is multiplied for a product: transformed tiles of some channels, and weights of a block of filters or of two.
struct Factors {
  const float *tiles, *weights;
  int64_t channels, block_of_tiles, filters_of_weights;
};

// Sums over channels for Count tiles and Filters blocks of filters, or adds to them.
template <int Filters, int Count, bool Adds> [[gnu::noinline]] void multiply(const Factors& factors, float* sums, int64_t filters_of_sums) {
  Floats sum[Filters][Count] = {};
  const auto for_sums = [&](const auto& body) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int filters = 0; filters < Filters; ++filters) {
#pragma GCC unroll 28
      for (int tile = 0; tile < Count; ++tile) body(sum[filters][tile], sums + filters * filters_of_sums + tile * kLanes);
    }
  };
  if constexpr (Adds) for_sums([](Floats& each, const float* from) { each = load(from); });
  const float *tiles = factors.tiles, *weights = factors.weights;
  for (int64_t channel = 0; channel < factors.channels; channel += kLanes, tiles += factors.block_of_tiles) {
    const int64_t lanes = std::min<int64_t>(kLanes, factors.channels - channel);
    for (int64_t lane = 0; lane < lanes; ++lane, weights += kLanes) {
      Floats weight[Filters];
#pragma GCC unroll 2
      for (int filters = 0; filters < Filters; ++filters)
        weight[filters] = in_register(load(weights + filters * factors.filters_of_weights));
#pragma GCC unroll 28
      for (int tile = 0; tile < Count; ++tile) {
        Floats value = all(tiles[tile * kLanes + lane]);
        if constexpr (Filters > 1) value = in_register(value);
#pragma GCC unroll 2
        for (int filters = 0; filters < Filters; ++filters) sum[filters][tile] += value * weight[filters];
      }
    }
  }
  for_sums([](Floats each, float* to) { store(to, each); });
}

// Backward, x is the gradient of y, and y is that of x.
template <class Form, Direction direction> class Convolution final : public Kernel {
 public:
  explicit Convolution(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.outputs[0].shape()),
        x_(spec.inputs[0]),
        weights_(spec.inputs[1]),
        biases_(kForward ? input<float>(spec, 2) : nullptr),
        y_(spec.outputs[0]),
        relu_(kForward && spec.attributes.number("relu", 0) != 0),
        memory_(spec, sizes_.memory(omp_get_max_threads())) {}

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Sizes(shapes.input(0), shapes.output(0)).memory(shapes.threads()) * sizeof(float);
  }

  void run(const StepContext&) override {
    if (sizes_.weights_first)
      run_weights_first();
    else
      run_tiles_first();
  }

 private:
  static constexpr bool kForward = direction == Direction::forward;
  static constexpr int kTaps = Form::kTaps, kProducts = winograd::kProducts<kTaps>;
  using Activation = typename Form::Activation;
  using Pixel = typename Activation::Pixel;
  using Weights = typename Form::template Weights<direction>;
  using Panel = winograd::Panel<kTaps>;

  struct Sizes {
    Blocked x, y;
    int64_t channels, filters;
    Tiles tiles;
    int64_t before;        // pixels of a tile before its outputs
    bool weights_first;    // all weights are transformed before the tiles, and these some rows at a time; else the other way around
    int64_t rows, blocks;  // of tiles, and of channels of the weights, that are transformed together
    Panel of_tiles, of_sums;
    int64_t of_weights, of_filters;  // floats from one product of the weights to the next, and of a block of filters

    Sizes(const Shape& of_x, const Shape& of_y)
        : x(of_x),
          y(of_y),
          channels(of_x[1]),
          filters(of_y[1]),
          tiles(y),
          before((y.height - x.height + kTaps - 1) / 2),
          weights_first(kProducts * kTapSize * x.blocks * y.blocks <= Panel(x.blocks, tiles.count()).floats()),
          rows(weights_first ? rows_together() : tiles.rows),
          blocks(weights_first ? x.blocks : std::min(x.blocks, kBlocksAtOnce)),
          of_tiles(x.blocks, rows * tiles.across),
          of_sums(kFilters, rows * tiles.across),
          of_weights(blocks * kTapSize + kLanes),
          of_filters(kProducts * of_weights) {}

    int64_t rows_together() const {
      const int64_t rows = std::clamp<int64_t>(kTilesFloats / Panel(x.blocks, tiles.across).floats(), 1, tiles.rows);
      return Form::kWholeImages ? (rows + tiles.down - 1) / tiles.down * tiles.down : rows;
    }

    // Floats for all threads, and for each.
    int64_t shared() const { return weights_first ? y.blocks * of_filters : of_tiles.floats(); }
    int64_t of_thread() const { return kept() + of_sums.floats() + floats_of_row<kTaps>(tiles) + Weights::kFloats + of_plane(); }
    // Those that are read or written at a time.
    int64_t of_plane() const { return std::max(Activation::floats(x), Activation::floats(y)); }
    // What a thread keeps transformed.
    int64_t kept() const { return weights_first ? of_tiles.floats() : kFilters * of_filters; }
    size_t memory(int threads) const { return static_cast<size_t>(shared() + threads * of_thread()); }

    int64_t work() const { return x.images * x.image() * y.blocks; }
  };

  // The memory of a thread.
  struct Workspace {
    float *kept, *sums, *row, *taps, *plane;
  };

  Workspace workspace() const {
    float* const kept = &memory_[0] + sizes_.shared() + omp_get_thread_num() * sizes_.of_thread();
    float *const sums = kept + sizes_.kept(), *const row = sums + sizes_.of_sums.floats();
    float* const taps = row + floats_of_row<kTaps>(sizes_.tiles);
    return {kept, sums, row, taps, taps + Weights::kFloats};
  }

  void run_weights_first() const {
    const auto& [x, y, tiles] = std::tie(sizes_.x, sizes_.y, sizes_.tiles);
    for_each(y.blocks, sizes_.work(), [&](int64_t filters) {
      transform({filters, filters + 1}, {0, x.blocks}, workspace().taps, &memory_[0] + filters * sizes_.of_filters);
    });
    for_each((tiles.rows + sizes_.rows - 1) / sizes_.rows, sizes_.work(), [&](int64_t item) {
      const Workspace own = workspace();
      const Range rows{item * sizes_.rows, std::min((item + 1) * sizes_.rows, tiles.rows)};
      for (int64_t block = 0; block < x.blocks; ++block) transform(rows, block, own, own.kept + block * sizes_.of_tiles.block);
      for (int64_t filters = 0; filters < y.blocks; filters += kFilters) {
        const Range some{filters, std::min(filters + kFilters, y.blocks)};
        multiply_all<false>(own.kept, &memory_[0] + filters * sizes_.of_filters, sizes_.channels, rows.size() * tiles.across, some.size(),
                            own.sums);
        finish(some, rows, own);
      }
    });
  }

  void run_tiles_first() const {
    const auto& [x, y, tiles] = std::tie(sizes_.x, sizes_.y, sizes_.tiles);
    for_each(x.blocks * x.images, sizes_.work(), [&](int64_t item) {
      const int64_t block = item / x.images, row = item % x.images * tiles.down;
      transform({row, row + tiles.down}, block, workspace(), &memory_[0] + block * sizes_.of_tiles.block + row * tiles.across * kLanes);
    });
    for_each((y.blocks + kFilters - 1) / kFilters, sizes_.work(), [&](int64_t item) {
      const Workspace own = workspace();
      const Range some{item * kFilters, std::min((item + 1) * kFilters, y.blocks)};
      for (int64_t first = 0; first < x.blocks; first += sizes_.blocks) {
        const Range blocks{first, std::min(first + sizes_.blocks, x.blocks)};
        const int64_t channels = std::min(blocks.end * kLanes, sizes_.channels) - first * kLanes;
        transform(some, blocks, own.taps, own.kept);
        const float* of_tiles = &memory_[0] + first * sizes_.of_tiles.block;
        if (first > 0)
          multiply_all<true>(of_tiles, own.kept, channels, tiles.count(), some.size(), own.sums);
        else
          multiply_all<false>(of_tiles, own.kept, channels, tiles.count(), some.size(), own.sums);
      }
      finish(some, {0, tiles.rows}, own);
    });
  }

  // The weights of these blocks of filters and channels, filter by filter.
  void transform(Range filters, Range channels, float* taps, float* to) const {
    const int64_t count = filters.size() * channels.size();
    const auto at = [&](int64_t i) { return std::pair(filters.begin + i / channels.size(), channels.begin + i % channels.size()); };
    for (int64_t i = 0; i < count; ++i) {
      const auto [filter, channel] = at(i);
      const auto [next_filter, next_channel] = i + 1 < count ? at(i + 1) : after(filters, channels);
      transform_weights<kTaps>(weights_.read(filter, channel, taps), std::min<int64_t>(kLanes, sizes_.channels - channel * kLanes),
                               weights_.in_one_piece(next_filter, next_channel),
                               to + (filter - filters.begin) * sizes_.of_filters + (channel - channels.begin) * kTapSize,
                               {kLanes, sizes_.of_weights});
    }
  }

  // The blocks of filters and channels that are transformed after these.
  std::pair<int64_t, int64_t> after(Range filters, Range channels) const {
    if (channels.end < sizes_.x.blocks) return {filters.begin, channels.end};
    return {filters.end < sizes_.y.blocks ? filters.end : 0, 0};
  }

  // These rows of tiles of a block of channels.
  void transform(Range rows, int64_t block, const Workspace& own, float* to) const {
    const auto& [x, tiles] = std::tie(sizes_.x, sizes_.tiles);
    const typename Activation::Pixel* plane = nullptr;
    for (int64_t row = rows.begin; row < rows.end; ++row, to += tiles.across * kLanes) {
      if (row == rows.begin || row % tiles.down == 0) plane = x_.read(row / tiles.down, block, own.plane);
      transform_row<kTaps, kPatch<kTaps>, Axis<kTaps>::transform_patch>(RowOfTiles{x, tiles, plane, row % tiles.down, sizes_.before},
                                                                        own.row, to, sizes_.of_tiles.product);
    }
  }

  // All products of these tiles by a pair of blocks of filters, or by the last one.
  template <bool Adds>
  void multiply_all(const float* tiles, const float* weights, int64_t channels, int64_t count, int64_t filters, float* sums) const {
    const auto multiply_by = [&]<int Filters>() {
      for (int product = 0; product < kProducts; ++product) {
        const float* some = tiles + product * sizes_.of_tiles.product;
        in_pieces<kSums<Filters>>(count, [&]<int Count>(int64_t first) {
          const Factors factors{some + first * kLanes, weights + product * sizes_.of_weights, channels, sizes_.of_tiles.block,
                                sizes_.of_filters};
          multiply<Filters, Count, Adds>(factors, sums + product * sizes_.of_sums.product + first * kLanes, sizes_.of_sums.block);
        });
      }
    };
    if (filters == kFilters)
      multiply_by.template operator()<kFilters>();
    else
      multiply_by.template operator()<1>();
  }

  void finish(Range filters, Range rows, const Workspace& own) const {
    const auto& [y, tiles] = std::tie(sizes_.y, sizes_.tiles);
    const auto row_of = [&](int64_t block, int64_t row) {
      return y_.write(row / tiles.down, block, own.plane) + row % tiles.down * kTile * y.row();
    };
    for (int64_t block = filters.begin; block < filters.end; ++block) {
      const Finish finish(biases_, block, std::min<int64_t>(kLanes, sizes_.filters - block * kLanes), relu_);
      const float* tile = own.sums + (block - filters.begin) * sizes_.of_sums.block;
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const int64_t height = std::min<int64_t>(kTile, y.height - row % tiles.down * kTile);
        Pixel *const to = row_of(block, row), *const next = row + 1 < rows.end ? row_of(block, row + 1)
                                                                               : row_of(std::min(block + 1, y.blocks - 1), rows.begin);
        for (int64_t left = 0; left < y.width; left += kTile, tile += kLanes) {
          fetch_tile(next + left * kLanes);
          store_tile<kTaps>(tile, sizes_.of_sums.product, finish,
                            OutputsOfTile{to + left * kLanes, y.row(), height, std::min<int64_t>(kTile, y.width - left)});
        }
        if ((row + 1) % tiles.down == 0) y_.written(row / tiles.down, block, own.plane);
      }
    }
  }

  // The outputs of a tile into the second cache, before they are stored.
  void fetch_tile(const Pixel* to) const {
#pragma GCC unroll 4
    for (int row = 0; row < kTile; ++row) {
#pragma GCC unroll 4
      for (int column = 0; column < kTile; ++column) __builtin_prefetch(to + row * sizes_.y.row() + column * kLanes, 0, 2);
    }
  }

  const Sizes sizes_;
  const Activation x_;
  const Weights weights_;
  const float* biases_;  // (O) or null
  const Activation y_;
  const bool relu_;
  // Of all threads, the weights or the tiles that are transformed first; then each thread's own.
  const PlannedItems<float> memory_;
};

template <class T> using ForwardInBlocks = Convolution<InBlocks<T>, Direction::forward>;
template <class T> using DataInBlocks = Convolution<InBlocks<T>, Direction::backward>;
template <class T> using ForwardInPlanes = Convolution<InPlanes<T>, Direction::forward>;
template <class T> using DataInPlanes = Convolution<InPlanes<T>, Direction::backward>;

bool takes_forward(const LoweringRequest& request, const std::string& layout) {
  return takes_blocks(request, shape_at(request.inputs, 0), shape_at(request.inputs, 1), layout);
}

bool takes_data(const LoweringRequest& request, const std::string& layout) {
  return takes_blocks(request, shape_at(request.outputs, 0), shape_at(request.inputs, 1), layout);
}

const Registered kInBlocks{{forward_operator({make_typed<ForwardInBlocks>, takes_forward, ForwardInBlocks<float>::scratch, kMethod}),
                            backward_data_operator({make_typed<DataInBlocks>, takes_data, DataInBlocks<float>::scratch, kMethod})}};
const Registered kInPlanes{{planes_forward_operator({make_typed<ForwardInPlanes>, takes_planes<roles_forward, Way::winograd>,
                                                     ForwardInPlanes<float>::scratch, kMethod}),
                            planes_data_operator({make_typed<DataInPlanes>, takes_planes<roles_backward_data, Way::winograd>,
                                                  DataInPlanes<float>::scratch, kMethod})}};

}  // namespace
}  // namespace arbalest::kernels
