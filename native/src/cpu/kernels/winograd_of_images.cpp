// y of a convolution over planes by Winograd's transforms, and the gradient of its x. A register holds a pixel of several images. These may
// fill it where channels and filters do not: LeNet's 20 channels fill 20 lanes of 32, and 16 images fill all 16.
#include <omp.h>

#include <algorithm>
#include <tuple>

#include "cpu/kernels/convolution_in_planes.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/product.h"
#include "cpu/kernels/winograd_forms.h"
#include "cpu/kernels/winograd_tiles.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;
using namespace winograd;

// Sums that are kept in registers: of some tiles and some filters.
constexpr int kSums = kLanes == 16 ? 24 : 12, kTilesOfSums = kLanes == 16 ? 4 : 3, kMostFilters = 8;
template <int Tiles> constexpr int kFiltersOfSums = std::min(kMostFilters, kSums / Tiles);

// Floats of transformed tiles that the second cache holds beside those of weights.
constexpr int64_t kTilesFloats = 96 * 1024;

// What is multiplied for a product: transformed tiles and weights of all channels.
struct Factors {
  const float *tiles, *weights;
  int64_t channels, channel_of_tiles, channel_of_weights;
};

template <int Tiles, int Filters> [[gnu::noinline]] void multiply(const Factors& factors, float* sums, int64_t filter_of_sums) {
  Floats sum[Filters][Tiles] = {};
  const float *tiles = factors.tiles, *weights = factors.weights;
  for (int64_t channel = 0; channel < factors.channels; ++channel) {
    Floats values[Tiles];
#pragma GCC unroll 4
    for (int tile = 0; tile < Tiles; ++tile) values[tile] = in_register(load(tiles + tile * kLanes));
#pragma GCC unroll 8
    for (int filter = 0; filter < Filters; ++filter) {
      const Floats weight = in_register(all(weights[filter]));
#pragma GCC unroll 4
      for (int tile = 0; tile < Tiles; ++tile) sum[filter][tile] += weight * values[tile];
    }
    tiles += factors.channel_of_tiles;
    weights += factors.channel_of_weights;
  }
#pragma GCC unroll 8
  for (int filter = 0; filter < Filters; ++filter) {
#pragma GCC unroll 4
    for (int tile = 0; tile < Tiles; ++tile) store(sums + filter * filter_of_sums + tile * kLanes, sum[filter][tile]);
  }
}

// Images in the lanes of registers: each channel is a block of its own.
Blocked images_in_lanes(const Shape& planes) {
  return Blocked({(planes[0] + kLanes - 1) / kLanes, planes[1] * kLanes, planes[2], planes[3]});
}

// Backward, x is the gradient of y, and y is that of x.
template <class T, Direction direction> class ConvolutionOfImages final : public Kernel {
 public:
  explicit ConvolutionOfImages(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.outputs[0].shape()),
        x_(input<T>(spec, 0)),
        weights_(spec.inputs[1]),
        biases_(kForward ? input<float>(spec, 2) : nullptr),
        y_(output<T>(spec, 0)),
        relu_(kForward && spec.attributes.number("relu", 0) != 0),
        memory_(spec, sizes_.memory(omp_get_max_threads())) {}

  static size_t scratch(const Shapes& shapes, const LoweringAnswer&) {
    return Sizes(shapes.input(0), shapes.output(0)).memory(shapes.threads()) * sizeof(float);
  }

  void run(const StepContext&) override {
    const auto& [x, y, tiles] = std::tie(sizes_.x, sizes_.y, sizes_.tiles);
    for_planes(x, [&](int64_t group, int64_t channel) {
      const Planes planes(x, sizes_.images, group, channel);
      read_planes(x_ + planes.first, planes.step, planes.images, planes.pixels, x_in_lanes() + planes.in_lanes);
    });
    transform_all_weights();
    for (int64_t first = 0; first < tiles.rows; first += sizes_.rows) {
      const Range rows{first, std::min(first + sizes_.rows, tiles.rows)};
      for_each(sizes_.channels, sizes_.work(), [&](int64_t channel) { transform(rows, channel); });
      for_each(sizes_.shares, sizes_.work(), [&](int64_t share) {
        const Range filters{share * sizes_.filters / sizes_.shares, (share + 1) * sizes_.filters / sizes_.shares};
        multiply_all(filters, rows);
        finish(filters, rows);
      });
    }
    for_planes(y, [&](int64_t group, int64_t filter) {
      const Planes planes(y, sizes_.images, group, filter);
      write_planes(y_in_lanes() + planes.in_lanes, planes.step, planes.images, planes.pixels, y_ + planes.first);
    });
  }

 private:
  static constexpr bool kForward = direction == Direction::forward;
  static constexpr int kTaps = InPlanes<T>::kTaps, kProducts = winograd::kProducts<kTaps>;
  using Weights = typename InPlanes<T>::template Weights<direction>;
  using Panel = winograd::Panel<kTaps>;

  struct Sizes {
    Blocked x, y;
    int64_t images, channels, filters;
    Tiles tiles;
    int64_t before;             // pixels of a tile before its outputs
    int64_t rows;               // of tiles that are transformed together
    int64_t shares;             // of filters, that are multiplied together
    Panel of_tiles, of_sums;    // of all channels; of a share
    StepsOfWeights of_weights;  // which have registers of filters

    Sizes(const Shape& of_x, const Shape& of_y)
        : x(images_in_lanes(of_x)),
          y(images_in_lanes(of_y)),
          images(of_x[0]),
          channels(of_x[1]),
          filters(of_y[1]),
          tiles(y),
          before((y.height - x.height + kTaps - 1) / 2),
          rows(std::clamp<int64_t>(kTilesFloats / Panel(channels, tiles.across).floats(), 1, tiles.rows)),
          shares((filters + together() - 1) / together()),
          of_tiles(channels, rows * tiles.across),
          of_sums(together(), rows * tiles.across),
          of_weights{in_registers(filters), in_registers(channels) * in_registers(filters) + kLanes} {}

    // The filters of a share: those whose sums of a piece of the tiles are kept in registers.
    int64_t together() const {
      const int64_t count = rows * tiles.across, pieces = (count + kTilesOfSums - 1) / kTilesOfSums;
      return std::min<int64_t>(kMostFilters, kSums / ((count + pieces - 1) / pieces));
    }

    // Floats for all threads, and for each.
    int64_t shared() const { return x.images * x.image() + y.images * y.image() + kProducts * of_weights.product + of_tiles.floats(); }
    int64_t of_thread() const { return of_sums.floats() + floats_of_row<kTaps>(tiles) + Weights::kFloats; }
    size_t memory(int threads) const { return static_cast<size_t>(shared() + threads * of_thread()); }

    int64_t work() const { return x.images * x.image() * filters; }
  };

  // The planes of a channel in a group of images that are in the lanes of the same registers.
  struct Planes {
    int64_t first, step, images, pixels, in_lanes;

    Planes(const Blocked& shape, int64_t all_images, int64_t group, int64_t channel)
        : step(shape.image() / kLanes),
          images(std::min<int64_t>(kLanes, all_images - group * kLanes)),
          pixels(shape.height * shape.width),
          in_lanes(group * shape.image() + channel * shape.plane()) {
      first = group * kLanes * step + channel * pixels;
    }
  };

  template <class Body> static void for_planes(const Blocked& shape, const Body& body) {
    for_each(shape.images * shape.blocks, shape.images * shape.image(), [&](int64_t i) { body(i / shape.blocks, i % shape.blocks); });
  }

  float* x_in_lanes() const { return &memory_[0]; }
  float* y_in_lanes() const { return x_in_lanes() + sizes_.x.images * sizes_.x.image(); }
  float* all_weights() const { return y_in_lanes() + sizes_.y.images * sizes_.y.image(); }
  float* all_tiles() const { return all_weights() + kProducts * sizes_.of_weights.product; }

  // The memory of a thread.
  float* sums() const { return &memory_[0] + sizes_.shared() + omp_get_thread_num() * sizes_.of_thread(); }
  float* row() const { return sums() + sizes_.of_sums.floats(); }
  float* taps() const { return row() + floats_of_row<kTaps>(sizes_.tiles); }

  void transform_all_weights() const {
    const int64_t filters = in_registers(sizes_.filters) / kLanes, channels = in_registers(sizes_.channels) / kLanes;
    for_each(filters * channels, sizes_.work(), [&](int64_t block) {
      const int64_t filter = block % filters, channel = block / filters;
      transform_weights<kTaps>(weights_.read(filter, channel, taps()), std::min<int64_t>(kLanes, sizes_.channels - channel * kLanes),
                               nullptr, all_weights() + channel * kLanes * sizes_.of_weights.channel + filter * kLanes, sizes_.of_weights);
    });
  }

  void transform(Range rows, int64_t channel) const {
    const auto& [x, tiles] = std::tie(sizes_.x, sizes_.tiles);
    float* to = all_tiles() + channel * sizes_.of_tiles.block;
    for (int64_t i = rows.begin; i < rows.end; ++i, to += tiles.across * kLanes) {
      const float* const plane = x_in_lanes() + i / tiles.down * x.image() + channel * x.plane();
      transform_row<kTaps, kPatch<kTaps>, Axis<kTaps>::transform_patch>(RowOfTiles{x, tiles, plane, i % tiles.down, sizes_.before}, row(),
                                                                        to, sizes_.of_tiles.product);
    }
  }

  // All products of the transformed tiles by some filters.
  void multiply_all(Range filters, Range rows) const {
    const int64_t tiles = rows.size() * sizes_.tiles.across;
    for (int product = 0; product < kProducts; ++product) {
      const Factors factors{all_tiles() + product * sizes_.of_tiles.product,
                            all_weights() + product * sizes_.of_weights.product + filters.begin, sizes_.channels, sizes_.of_tiles.block,
                            sizes_.of_weights.channel};
      float* const to = sums() + product * sizes_.of_sums.product;
      in_pieces<kTilesOfSums>(tiles, [&]<int Tiles>(int64_t tile) {
        // The last rows may come in larger pieces, for which a share has too many filters.
        in_pieces<kFiltersOfSums<Tiles>>(filters.size(), [&]<int Filters>(int64_t filter) {
          Factors some = factors;
          some.tiles += tile * kLanes;
          some.weights += filter;
          multiply<Tiles, Filters>(some, to + filter * sizes_.of_sums.block + tile * kLanes, sizes_.of_sums.block);
        });
      });
    }
  }

  void finish(Range filters, Range rows) const {
    const auto& [y, tiles] = std::tie(sizes_.y, sizes_.tiles);
    for (int64_t filter = filters.begin; filter < filters.end; ++filter) {
      const Finish finish(biases_ ? all(biases_[filter]) : Floats{}, relu_);
      const float* tile = sums() + (filter - filters.begin) * sizes_.of_sums.block;
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const int64_t top = i % tiles.down * kTile;
        float* const to = y_in_lanes() + i / tiles.down * y.image() + filter * y.plane() + top * y.row();
        for (int64_t left = 0; left < y.width; left += kTile, tile += kLanes)
          store_tile<kTaps>(tile, sizes_.of_sums.product, finish,
                            OutputsOfTile{to + left * kLanes, y.row(), std::min<int64_t>(kTile, y.height - top),
                                          std::min<int64_t>(kTile, y.width - left)});
      }
    }
  }

  const Sizes sizes_;
  const T* x_;
  const Weights weights_;
  const float* biases_;  // (O) or null
  T* y_;
  const bool relu_;
  // x and y with images in lanes, all transformed weights, and the tiles that are transformed together; then each thread's own.
  const PlannedItems<float> memory_;
};

template <class T> using Forward = ConvolutionOfImages<T, Direction::forward>;
template <class T> using Data = ConvolutionOfImages<T, Direction::backward>;

constexpr Way kWay = Way::winograd_of_images;
const Registered kRegistered{
    {planes_forward_operator({make_typed<Forward>, takes_planes<roles_forward, kWay>, Forward<float>::scratch, kMethodOfImages}),
     planes_data_operator({make_typed<Data>, takes_planes<roles_backward_data, kWay>, Data<float>::scratch, kMethodOfImages})}};

}  // namespace
}  // namespace arbalest::kernels
