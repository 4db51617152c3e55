// Convolutions of 3x3 of images of 2 to 4 pixels a side, and the gradient of their x. They have more weights than pixels, so that what
// takes time is to bring each weight to where it is multiplied. A block of weights lies in the nearest cache while it meets a share of
// the images, and the next one is fetched meanwhile. Both passes read the weights as their gradient is written: no copy of all of them is
// made. What a tap would multiply outside of an image is left out when this is compiled.
#include <algorithm>
#include <utility>

#include "cpu/kernels/convolution_3x3.h"
#include "cpu/kernels/pairs.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/tiles.h"
#include "cpu/kernels/winograd.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;

// Pixels of a share, of which the nearest cache holds the sums beside a block of weights.
constexpr int64_t kPixels = 128;

// Rows of taps that are kept in registers: a pixel, once it is loaded, serves all of them.
constexpr int kTapRows = kLanes == 16 ? kSide : 1;
constexpr int kSums = kLanes == 16 ? 20 : 9;
// Rows of an image, and images, whose sums are kept in registers beside them.
template <int Side> constexpr int kRows = kSums < (Side * Side) ? Side / 2 : Side;
template <int Side> constexpr int kImages = kSums / (Side * kRows<Side>);

template <class T, Direction direction> class Convolution final : public Kernel {
 public:
  explicit Convolution(const OperatorSpec& spec)
      : x_(spec.inputs[0].shape()),
        y_(spec.outputs[0].shape()),
        x_data_(reinterpret_cast<const Item*>(spec.inputs[0].as<T>())),
        weights_(spec.inputs[1].as<float>()),
        biases_(kForward ? input<float>(spec, 2) : nullptr),
        y_data_(spec.outputs[0].as<T>()),
        relu_(kForward && spec.attributes.number("relu", 0) != 0),
        block_of_x_(kForward ? kWeightsBlock : y_.blocks * kWeightsBlock),
        block_of_y_(kForward ? x_.blocks * kWeightsBlock : kWeightsBlock) {}

  void run(const StepContext&) override {
    const auto run_images = [&]<int Side>() {
      constexpr int64_t kTogether = kPixels / (Side * Side);
      const int64_t shares = (x_.images + kTogether - 1) / kTogether, items = y_.blocks * shares;
      for_each(items, x_.images * x_.image() * y_.blocks, [&](int64_t item) {
        const int64_t block = item / shares, first = item % shares * kTogether;
        const Share share{block, first, std::min(kTogether, x_.images - first)};
        compute<Side>(share, item + 1 < items ? weights_of((item + 1) / shares) : nullptr, Finish(biases_, block, kLanes, relu_));
      });
    };
    if (x_.width == 2) return run_images.template operator()<2>();
    if (x_.width == 3) return run_images.template operator()<3>();
    return run_images.template operator()<4>();
  }

 private:
  using Item = ItemOf<T>;
  static constexpr bool kForward = direction == Direction::forward;
  // Items of a block of channels of a pixel.
  static constexpr int kItems = kLanes / kValues<Item>;

  // A block of weights as it is multiplied: the tap of an item of x in the lanes of y.
  struct Taps {
    alignas(sizeof(Floats)) Item of[kTaps][kItems][kLanes];
  };

  // Images of which a block of y is computed.
  struct Share {
    int64_t block, first, images;
  };

  const float* weights_of(int64_t block) const { return weights_ + block * block_of_y_; }

  // `after`: the weights that are wanted next, or null.
  template <int Side> void compute(const Share& share, const float* after, const Finish& finish) const {
    const auto& [block, first, images] = share;
    Taps taps;
    alignas(sizeof(Floats)) float sums[kPixels * kLanes];
    std::fill_n(sums, images * y_.plane(), 0.0f);
    const float* weights = weights_of(block);
    for (int64_t channels = 0; channels < x_.blocks; ++channels, weights += block_of_x_) {
      const Item* x = x_data_ + (first * x_.image() + channels * x_.plane()) / kValues<Item>;
      const Item* const ready = made_ready(weights, taps);
      const float* next = channels + 1 < x_.blocks ? weights + block_of_x_ : after;
      in_pieces<kImages<Side>>(images, [&]<int Images>(int64_t image) {
        const auto add_rows = [&]<int First>() {
          add<Side, Images, First>(x + image * x_.image() / kValues<Item>, ready, std::exchange(next, nullptr), sums + image * y_.plane());
        };
        add_rows.template operator()<0>();
        if constexpr (kRows<Side> < Side) add_rows.template operator()<kRows<Side>>();
      });
    }
    for (int64_t image = 0; image < images; ++image) {
      T* y = y_data_ + (first + image) * y_.image() + block * y_.plane();
      for (int64_t at = 0; at < y_.plane(); at += kLanes) store(y + at, finish(load(sums + image * y_.plane() + at)));
    }
  }

  // Adds what a block of weights gives to kRows rows of Images images, from row First on, and fetches the next block, unless null.
  template <int Side, int Images, int First>
  [[gnu::noinline]] void add(const Item* x, const Item* taps, const float* next, float* sums) const {
    constexpr int kOutputs = kRows<Side> * Side;
    const int64_t image = x_.image() / kValues<Item>;
    Floats sum[Images][kOutputs];
    const auto for_sums = [&](const auto& body) [[gnu::always_inline]] {
#pragma GCC unroll 24
      for (int i = 0; i < Images; ++i) {
#pragma GCC unroll 16
        for (int at = 0; at < kOutputs; ++at) body(sum[i][at], sums + ((i * Side + First) * Side + at) * kLanes);
      }
    };
    for_sums([](Floats& each, const float* from) { each = load(from); });
    for (int item = 0; item < kItems; ++item, ++x, taps += kLanes) {
      if (next) {
        // Into the second cache: the first has room for fewer fetches under way than are needed.
        for (int row = 0; row < kTaps * kValues<Item>; ++row, next += kLanes) __builtin_prefetch(next, 0, 2);
      }
#pragma GCC unroll 3
      for (int first = 0; first < kSide; first += kTapRows) {
        const auto for_taps = [&](const auto& body) [[gnu::always_inline]] {
#pragma GCC unroll 3
          for (int kh = 0; kh < kTapRows; ++kh) {
#pragma GCC unroll 3
            for (int kw = 0; kw < kSide; ++kw) body(first + kh, kw);
          }
        };
        RegisterOf<Item> tap[kTapRows][kSide];
        for_taps([&](int kh, int kw) { tap[kh - first][kw] = in_register(load(taps + (kh * kSide + kw) * kItems * kLanes)); });
#pragma GCC unroll 24
        for (int i = 0; i < Images; ++i) {
#pragma GCC unroll 16
          for (int at = 0; at < Side * Side; ++at) {
            const auto pixel = in_register(all(x[i * image + at * kItems]));
            for_taps([&](int kh, int kw) {
              const int row = at / Side + 1 - kh - First, column = at % Side + 1 - kw;
              if (row < 0 || row >= kRows<Side> || column < 0 || column >= Side) return;
              Floats& each = sum[i][row * Side + column];
              each = multiply_add(each, pixel, tap[kh - first][kw]);
            });
          }
        }
      }
    }
    for_sums([](Floats each, float* to) { store(to, each); });
  }

  const Item* made_ready(const float* weights, Taps& taps) const {
    if constexpr (kForward && !kPaired<Item>) {
      return weights;
    } else {
      if constexpr (kForward)
        pair_channels(weights, taps);
      else
        exchange(weights, taps);
      return &taps.of[0][0][0];
    }
  }

  static void pair_channels(const float* weights, Taps& taps) {
    for (auto& tap : taps.of) {
      for (int item = 0; item < kItems; ++item, weights += 2 * kLanes) store(tap[item], paired(load(weights), load(weights + kLanes)));
    }
  }

  // Each row has the channels of a filter, or of a pair of filters. In pairs, a square holds as many taps as an item has values.
  static void exchange(const float* weights, Taps& taps) {
    constexpr int kTogether = static_cast<int>(kValues<Item>);
    for (int tap = 0; tap < kTaps; tap += kTogether, weights += kTogether * kTapSize) {
      Floats square[kLanes];
#pragma GCC unroll 16
      for (int channel = 0; channel < kLanes; ++channel) {
        const float* const row = weights + channel * kLanes;
        if constexpr (kPaired<Item>)
          square[channel] = reinterpret_cast<Floats>(as_neighbours(load(row), tap + 1 < kTaps ? load(row + kTapSize) : Floats{}));
        else
          square[channel] = load(row);
      }
      transpose(square);
      // Turned around: from the last tap to the first one.
      for (int i = 0; i < kTogether && tap + i < kTaps; ++i) {
#pragma GCC unroll 16
        for (int item = 0; item < kItems; ++item)
          store(reinterpret_cast<float*>(taps.of[kTaps - 1 - tap - i][item]), square[i * kItems + item]);
      }
    }
  }

  const Blocked x_, y_;
  const Item* x_data_;              // (N, I, H, W) in blocks
  const float *weights_, *biases_;  // (O, I, 3, 3) in rows of filters, (O) or null
  T* y_data_;                       // (N, O, H, W) in blocks
  const bool relu_;
  const int64_t block_of_x_, block_of_y_;
};

template <class T> using Forward = Convolution<T, Direction::forward>;
template <class T> using BackwardData = Convolution<T, Direction::backward>;

// `x` (N, I, H, W), `w` (O, I, 3, 3). Tiles of AMX multiply faster than pairs.
bool takes_images(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  if (winograd::takes_blocks(request, x, w, layout)) return false;
  if (layout != kActivations || !has_shapes(request, x, w) || x[2] != x[3] || x[3] > 4) return false;
  return request.precision == Type::f32 || !has_tiles();
}

bool takes_forward(const LoweringRequest& request, const std::string& layout) {
  return takes_images(request, shape_at(request.inputs, 0), shape_at(request.inputs, 1), layout);
}

bool takes_data(const LoweringRequest& request, const std::string& layout) {
  return takes_images(request, shape_at(request.outputs, 0), shape_at(request.inputs, 1), layout);
}

const Registered kRegistered{
    {forward_operator({make_typed<Forward>, takes_forward}), backward_data_operator({make_typed<BackwardData>, takes_data})}};

}  // namespace
}  // namespace arbalest::kernels
