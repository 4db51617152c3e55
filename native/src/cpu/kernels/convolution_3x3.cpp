// y of a convolution of 3x3, and the gradient of its x: that is the convolution of the gradient of y with each filter turned around.
#include "cpu/kernels/convolution_3x3.h"

#include <algorithm>

#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"

namespace arbalest::kernels {
namespace {

using namespace convolution_3x3;

// Outputs that are kept in registers, beside the taps of a row of the filters and a pixel.
constexpr int kOutputs = kLanes == 16 ? 16 : 12;
// Narrower images have kernels of their own where they are small squares; the others are oneDNN's.
constexpr int kLeastWidth = 7;

// Weights of a block of filters that stay in the nearest cache, beside pixels. Where there are more, those to come are fetched ahead.
constexpr int64_t kNearWeights = 6144;

// Weights as they are multiplied: the first tap between the first blocks of x and of y, and how far it is to the next one in each
// direction.
struct Weights {
  const float* first;
  int64_t tap, block_of_y, block_of_x;
};

class Convolution {
 public:
  Convolution(const Tensor& x, const Weights& weights, const Tensor& y)
      : x_(x.shape()), y_(y.shape()), x_data_(x.as<float>()), weights_(weights), y_data_(y.as<float>()) {}

  // Adds the biases, unless null.
  void run(const float* biases, bool relu) const {
    if (x_.blocks * kWeightsBlock > kNearWeights)
      run_fetching<true>(biases, relu);
    else
      run_fetching<false>(biases, relu);
  }

 private:
  // `Fetching`: weights are fetched ahead.
  template <bool Fetching> void run_fetching(const float* biases, bool relu) const {
    const int64_t work = x_.images * x_.image() * y_.blocks;
    if (x_.width > kOutputs / 2) {
      for_each(x_.images * y_.blocks, work, [&](int64_t item) {
        const int64_t image = item / y_.blocks, block = item % y_.blocks;
        const Finish finish(biases, block, relu);
        for (int64_t row = 0; row < y_.height; ++row) {
          in_pieces<kOutputs>(x_.width, [&]<int Count>(int64_t column) { compute<1, Count, Fetching>(image, block, row, column, finish); });
        }
      });
      return;
    }
    // Rows of two images, so that the weights, once loaded, serve as many outputs as in a long row. They stay in the cache until all images
    // have passed.
    const int64_t pairs = (x_.images + 1) / 2;
    for_each(y_.blocks * pairs, work, [&](int64_t item) {
      const int64_t block = item / pairs, image = item % pairs * 2;
      const Finish finish(biases, block, relu);
      piece_of<2>(std::min<int64_t>(2, x_.images - image), image, [&]<int Images>(int64_t first) {
        for (int64_t row = 0; row < y_.height; ++row) {
          if (x_.width == kOutputs / 2)
            compute<Images, kOutputs / 2, Fetching>(first, block, row, 0, finish);
          else
            compute<Images, kLeastWidth, Fetching>(first, block, row, 0, finish);
        }
      });
    });
  }

  // Count outputs of a row, in each of Images images.
  template <int Images, int Count, bool Fetching>
  [[gnu::noinline]] void compute(int64_t image, int64_t block, int64_t row, int64_t column, const Finish& finish) const {
    const float* x = x_data_ + image * x_.image() + row * x_.row() + column * kLanes;
    const float* w = weights_.first + block * weights_.block_of_y;
    const int first = row == 0 ? 1 : 0, end = row + 1 == x_.height ? kSide - 1 : kSide;
    const bool left = column > 0, right = column + Count < x_.width;
    Floats sums[Images][Count] = {};
    for (int64_t channels = 0; channels < x_.blocks; ++channels, x += x_.plane(), w += weights_.block_of_x) {
      for (int kh = first; kh < end; ++kh) add_row<Fetching>(x + (kh - 1) * x_.row(), w + kh * kSide * weights_.tap, left, right, sums);
    }
    float* y = y_data_ + image * y_.image() + block * y_.plane() + row * y_.row() + column * kLanes;
#pragma GCC unroll 16
    for (int i = 0; i < Images; ++i) {
#pragma GCC unroll 16
      for (int at = 0; at < Count; ++at) store(y + i * y_.image() + at * kLanes, finish(sums[i][at]));
    }
  }

  // Adds what a row of the filters gives for a block of channels. `pixels` lie under the outputs; there are some beside them where `left`
  // and `right`.
  template <bool Fetching, int Images, int Count>
  [[gnu::always_inline]] inline void add_row(const float* pixels, const float* taps, bool left, bool right,
                                             Floats (&sums)[Images][Count]) const {
    for (int lane = 0; lane < kLanes; ++lane, ++pixels, taps += kLanes) {
      if constexpr (Fetching) {
        // Those of the next block of channels.
        for (int kw = 0; kw < kSide; ++kw) __builtin_prefetch(taps + weights_.block_of_x + kw * weights_.tap);
      }
      const Floats tap[kSide] = {in_register(load(taps)), in_register(load(taps + weights_.tap)),
                                 in_register(load(taps + 2 * weights_.tap))};
#pragma GCC unroll 16
      for (int i = 0; i < Images; ++i) {
        const auto pixel = [&](int64_t at) { return in_register(all(pixels[i * x_.image() + at * kLanes])); };
        if (left) sums[i][0] += pixel(-1) * tap[0];
#pragma GCC unroll 16
        for (int at = 0; at < Count; ++at) {
          const Floats value = pixel(at);
          if (at + 1 < Count) sums[i][at + 1] += value * tap[0];
          sums[i][at] += value * tap[1];
          if (at > 0) sums[i][at - 1] += value * tap[2];
        }
        if (right) sums[i][Count - 1] += pixel(Count) * tap[2];
      }
    }
  }

  const Blocked x_, y_;
  const float* x_data_;  // (N, I / lanes, H, W, lanes)
  const Weights weights_;
  float* y_data_;  // (N, O / lanes, H, W, lanes)
};

// (O, I, 3, 3): blocks of filters, in them blocks of channels.
int64_t block_of_filters(const Tensor& weights) { return weights.shape()[1] / kLanes * kWeightsBlock; }

Weights as_they_lie(const Tensor& weights) { return {weights.as<float>(), kTapSize, block_of_filters(weights), kWeightsBlock}; }

// From the last tap to the first one; y is the gradient of the channels, and x that of the filters.
Weights turned_around(const Tensor& weights) {
  return {weights.as<float>() + (kTaps - 1) * kTapSize, -kTapSize, kWeightsBlock, block_of_filters(weights)};
}

class Forward final : public Kernel {
 public:
  explicit Forward(const OperatorSpec& spec)
      : convolution_(spec.inputs[0], as_they_lie(spec.inputs[1]), spec.outputs[0]),
        biases_(input<float>(spec, 2)),
        relu_(spec.attributes.number("relu", 0) != 0) {}

  void run(const StepContext&) override { convolution_.run(biases_, relu_); }

 private:
  const Convolution convolution_;
  const float* biases_;
  const bool relu_;
};

class BackwardData final : public Kernel {
 public:
  explicit BackwardData(const OperatorSpec& spec) : convolution_(spec.inputs[0], turned_around(spec.inputs[1]), spec.outputs[0]) {}

  void run(const StepContext&) override { convolution_.run(nullptr, false); }

 private:
  const Convolution convolution_;
};

// Whether enough sums are computed at once that none waits for its last multiply-add.
bool is_worth_it(int64_t width) {
  constexpr int64_t kLeastSums = 10;
  const int64_t pieces = (width + kOutputs - 1) / kOutputs;
  return width >= kLeastWidth && (width > kOutputs / 2 ? width / pieces : 2 * width) >= kLeastSums;
}

bool takes_forward(const LoweringRequest& request, const std::string& layout) {
  const Shape x = shape_at(request.inputs, 0);
  return takes_shapes(request, x, shape_at(request.inputs, 1), layout) && is_worth_it(x[3]);
}

bool takes_data(const LoweringRequest& request, const std::string& layout) {
  const Shape x = shape_at(request.outputs, 0);
  return takes_shapes(request, x, shape_at(request.inputs, 1), layout) && is_worth_it(x[3]);
}

const Registered kRegistered{
    {forward_operator(make_only<Forward>, takes_forward), backward_data_operator(make_only<BackwardData>, takes_data, kRowsOfChannels)}};

}  // namespace

namespace convolution_3x3 {
namespace {

void check_forward(const Shapes& shapes) {
  const Shape y = result_of(shapes.input(0), shapes.input(1));
  if (shapes.has_input(2)) shapes.input_is(2, {y[1]});
  shapes.output_is(0, y);
}

void check_data(const Shapes& shapes) { shapes.input_is(0, result_of(shapes.output(0), shapes.input(1))); }

void check_weights(const Shapes& shapes) {
  const Shape y = result_of(shapes.input(0), shapes.output(0));
  shapes.input_is(1, y);
  if (shapes.has_output(1)) shapes.output_is(1, {y[1]});
}

}  // namespace

Operator forward_operator(Make* make, Takes* takes) {
  using enum Role;
  return {.kind = "conv2d",
          .inputs = {{"x", activation}, {"w", filters}, {"b", parameter, true}},
          .outputs = {{"y", activation}},
          .check = check_forward,
          .make = make,
          .takes = takes,
          .layout = kActivations,
          .filters = kRowsOfFilters};
}

Operator backward_data_operator(Make* make, Takes* takes, const char* weights) {
  using enum Role;
  return {.kind = "conv2dBackwardData",
          .inputs = {{"gy", activation}, {"w", filters}},
          .outputs = {{"gx", activation}},
          .check = check_data,
          .make = make,
          .takes = takes,
          .layout = kActivations,
          .filters = weights};
}

Operator backward_weights_operator(Make* make, Takes* takes, const char* layout, Scratch* scratch) {
  using enum Role;
  return {.kind = "conv2dBackwardWeights",
          .inputs = {{"x", activation}, {"gy", activation}},
          .outputs = {{"gw", filters}, {"gb", parameter, true}},
          .check = check_weights,
          .make = make,
          .scratch = scratch,
          .takes = takes,
          .layout = layout,
          .filters = kRowsOfFilters};
}

bool has_shapes(const LoweringRequest& request, const Shape& x, const Shape& w) {
  const Attributes& attributes = request.attributes;
  if (kLanes < 8 || attributes.number("groups", 1) != 1) return false;
  if (attributes.list("stride") != std::vector<double>{1, 1} || attributes.list("padding") != std::vector<double>{1, 1}) return false;
  if (x.size() != 4 || w.size() != 4 || w[1] != x[1] || w[2] != kSide || w[3] != kSide) return false;
  return x[1] % kLanes == 0 && w[0] % kLanes == 0 && x[2] >= 2 && x[3] >= 2;
}

bool stores_past_caches(const float* gw, int64_t blocks, bool written_once) {
  // More weights than these are in no near cache when they are read.
  constexpr int64_t kFarWeights = int64_t{1} << 20;
  return written_once && blocks * kWeightsBlock >= kFarWeights && reinterpret_cast<uintptr_t>(gw) % sizeof(Floats) == 0;
}

bool takes_shapes(const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout) {
  return request.precision == Type::f32 && layout == kActivations && has_shapes(request, x, w);
}

}  // namespace convolution_3x3
}  // namespace arbalest::kernels
