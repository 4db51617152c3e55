// The gradients of conv2d without padding, in nhwc. The pixels under one row of a filter lie side by side in memory, so that each row of
// the filters gives a product of matrices and nothing is unfolded. For filters that do not fill blocks of registers: oneDNN's are made for
// blocks.
#include <algorithm>
#include <vector>

#include "cpu/kernels/convolution_in_planes.h"
#include "cpu/kernels/convolution_sizes.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/product.h"

namespace arbalest::kernels {
namespace {

// Lanes of the register from `first` on that are among `count`.
int lanes_from(int64_t first, int64_t count) { return static_cast<int>(std::min<int64_t>(kLanes, count - first)); }

struct Sizes : ConvolutionSizes {
  int64_t down, across;  // the steps of the filters

  Sizes(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y)
      : ConvolutionSizes(x, w, y),
        down(static_cast<int64_t>(attributes.list("stride")[0])),
        across(static_cast<int64_t>(attributes.list("stride")[1])) {}

  // Values of x under one row of a filter.
  int64_t row_depth() const { return kernel_width * channels; }
  // Values of a row of x, and of y.
  int64_t x_row() const { return width * channels; }
  int64_t y_row() const { return out_width * filters; }
};

// Where value k of a filter (C, KH, KW) is in (KH, KW, C).
int64_t place_of(const Sizes& s, int64_t k) { return k % s.taps() * s.channels + k / s.taps(); }

// Sums (KH, KW, C, O), whose rows are whole registers, as weights (O, C, KH, KW).
void order_by_filters(const Sizes& s, const float* sums, float* weights) {
  const int64_t row = in_registers(s.filters);
  for (int64_t o = 0; o < row; o += kLanes) {
    for (int64_t k = 0; k < s.depth(); k += kLanes) {
      const int count = lanes_from(k, s.depth());
      Floats block[kLanes];
      for (int i = 0; i < kLanes; ++i) block[i] = i < count ? load(sums + place_of(s, k + i) * row + o) : Floats{};
      transpose(block);
      for (int i = 0; i < lanes_from(o, s.filters); ++i) store(weights + (o + i) * s.depth() + k, block[i], count);
    }
  }
}

// Weights (O, C, KH, KW) as (KH, O, KW, C). Rows are whole registers apart; what is between them is never used.
void order_by_rows(const Sizes& s, const float* weights, float* ordered) {
  const int64_t row = in_registers(s.row_depth());
  for (int64_t o = 0; o < s.filters; ++o) {
    for (int64_t tap = 0; tap < s.taps(); tap += kLanes) {
      for (int64_t c = 0; c < s.channels; c += kLanes) {
        const int taps = lanes_from(tap, s.taps()), channels = lanes_from(c, s.channels);
        Floats block[kLanes];
        for (int i = 0; i < kLanes; ++i)
          block[i] = i < channels ? load(weights + (o * s.channels + c + i) * s.taps() + tap, taps) : Floats{};
        transpose(block);
        for (int i = 0; i < taps; ++i) {
          const int64_t kh = (tap + i) / s.kernel_width, kw = (tap + i) % s.kernel_width;
          store(ordered + (kh * s.filters + o) * row + kw * s.channels + c, block[i], channels);
        }
      }
    }
  }
}

// Each output spreads its gradient over the pixels under each row of a filter. Outputs of one column and different rows share no pixel
// there.
class ConvolutionData final : public Kernel {
 public:
  explicit ConvolutionData(const OperatorSpec& spec)
      : sizes_(spec.attributes, spec.outputs[0].shape(), spec.inputs[1].shape(), spec.inputs[0].shape()),
        gy_(input<float>(spec, 0)),
        w_(input<float>(spec, 1)),
        gx_(output<float>(spec, 0)),
        ordered_(spec, floats(sizes_)) {}

  static size_t floats(const Sizes& s) { return static_cast<size_t>(s.kernel_height * s.filters * in_registers(s.row_depth())); }

  void run(const StepContext&) override {
    const Sizes& s = sizes_;
    order_by_rows(s, w_, &ordered_[0]);
    const int64_t row = in_registers(s.row_depth());
    for_each(s.images, s.work(), [&](int64_t image) {
      const float* gy = gy_ + image * s.out_height * s.y_row();
      float* gx = gx_ + image * s.height * s.x_row();
      std::fill_n(gx, s.height * s.x_row(), 0.0f);
      for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
        for (int64_t ow = 0; ow < s.out_width; ++ow) {
          float* under = gx + kh * s.x_row() + ow * s.across * s.channels;
          product_in_tiles({gy + ow * s.filters, s.y_row(), 1}, &ordered_[0] + kh * s.filters * row, row, s.out_height, s.row_depth(),
                           {s.filters}, [&](int64_t oh, int64_t k, Floats sums, int lanes) {
                             float* at = under + oh * s.down * s.x_row() + k;
                             store(at, (lanes == kLanes ? load(at) : load(at, lanes)) + sums, lanes);
                           });
        }
      }
    });
  }

 private:
  const Sizes sizes_;
  const float *gy_, *w_;
  float* gx_;
  PlannedItems<float> ordered_;
};

class ConvolutionWeights final : public Kernel {
 public:
  explicit ConvolutionWeights(const OperatorSpec& spec)
      : sizes_(spec.attributes, spec.inputs[0].shape(), spec.outputs[0].shape(), spec.inputs[1].shape()),
        x_(input<float>(spec, 0)),
        gy_(input<float>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)),
        scratch_(spec, floats(sizes_)) {}

  // Sums (KH, KW, C, O), and the last image of gy with a register behind it: filters are read in whole registers.
  static size_t floats(const Sizes& s) {
    return static_cast<size_t>(s.depth() * in_registers(s.filters) + s.out_height * s.y_row() + kLanes);
  }

  // Several threads share the rows of the filters. Each image is added as a whole, in order, however many there are.
  void run(const StepContext&) override {
    const Sizes& s = sizes_;
    const int64_t share = worth_threads(s.work()) ? 1 : s.kernel_height, row_sums = s.row_depth() * in_registers(s.filters);
    float* sums = &scratch_[0];
    float* last = sums + s.kernel_height * row_sums;
    const int64_t image_size = s.out_height * s.y_row();
    std::copy_n(gy_ + (s.images - 1) * image_size, image_size, last);
    for_each(s.kernel_height / share, s.work(), [&](int64_t item) {
      const int64_t begin = item * share, end = begin + share;
      std::fill(sums + begin * row_sums, sums + end * row_sums, 0.0f);
      for (int64_t image = 0; image < s.images; ++image) {
        const float* gy = image + 1 < s.images ? gy_ + image * image_size : last;
        for (int64_t kh = begin; kh < end; ++kh) add_image(x_ + (image * s.height + kh) * s.x_row(), gy, sums + kh * row_sums);
      }
    });
    order_by_filters(s, sums, gw_);
    if (gb_) add_biases();
  }

 private:
  void add_image(const float* x, const float* gy, float* sums) const {
    const Sizes& s = sizes_;
    const int64_t row = in_registers(s.filters);
    const Depth outputs{s.out_width, s.out_height, s.down * s.x_row(), s.y_row()};
    product_in_tiles({x, 1, s.across * s.channels}, gy, s.filters, s.row_depth(), s.filters, outputs,
                     [&](int64_t k, int64_t o, Floats added, int) {
                       float* at = sums + k * row + o;
                       store(at, load(at) + added);
                     });
  }

  // A row of outputs at a time, since a long sum in float is inexact.
  void add_biases() const {
    const Sizes& s = sizes_;
    for (int64_t o = 0; o < s.filters; o += kLanes) {
      const int lanes = lanes_from(o, s.filters);
      double totals[kLanes] = {};
      for (int64_t row = 0; row < s.images * s.out_height; ++row) {
        const float* gy = gy_ + row * s.y_row() + o;
        Floats sum{};
        for (int64_t ow = 0; ow < s.out_width; ++ow) sum += load(gy + ow * s.filters, lanes);
        for (int lane = 0; lane < lanes; ++lane) totals[lane] += static_cast<double>(sum[lane]);
      }
      for (int lane = 0; lane < lanes; ++lane) gb_[o + lane] = static_cast<float>(totals[lane]);
    }
  }

  const Sizes sizes_;
  const float *x_, *gy_;
  float *gw_, *gb_;  // (O, C, KH, KW), (O)
  PlannedItems<float> scratch_;
};

// Whether it is one of these, and faster here than oneDNN: where rows and columns of outputs fill tiles and filters fill most of their
// registers, but not blocks of them.
bool takes_shapes(const LoweringRequest& request, const Shape& x, const Shape& w, const Shape& y) {
  const Attributes& attributes = request.attributes;
  if (kLanes < 8 || request.precision != Type::f32 || attributes.number("groups", 1) != 1) return false;
  if (x.size() != 4 || w.size() != 4 || y.size() != 4 || w[1] != x[1]) return false;
  if (attributes.list("padding") != std::vector<double>{0, 0} || attributes.list("stride").size() != 2) return false;
  const auto extent = [&](size_t axis) {
    const double stride = attributes.list("stride")[axis - 2];
    return stride >= 1 && x[axis] >= w[axis] ? (x[axis] - w[axis]) / static_cast<int64_t>(stride) + 1 : 0;
  };
  if (y != Shape{x[0], w[0], extent(2), extent(3)} || y[2] < kWideTileRows || y[3] < kWideTileRows) return false;
  return w[0] % kLanes != 0 && 4 * w[0] >= 3 * in_registers(w[0]);
}

// In blocks, an activation would have to be reordered.
bool in_blocks(const TensorSpec& activation) { return activation.layout == "nChw8c" || activation.layout == "nChw16c"; }

template <RolesOf roles_of> bool takes(const LoweringRequest& request, const std::string&) {
  const auto [x, w, y] = roles_of(request.inputs, request.outputs);
  return x && w && y && takes_shapes(request, x->shape, w->shape, y->shape) && !in_blocks(*x) && !in_blocks(*y) &&
         !runs_in_planes(request, {x, w, y});
}

// With AVX-512 oneDNN is as fast for this gradient.
bool takes_weights(const LoweringRequest& request, const std::string& layout) {
  return kLanes == 8 && takes<roles_backward_weights>(request, layout);
}

template <RolesOf roles_of, class Made> size_t scratch(const Shapes& shapes, const LoweringAnswer& answer) {
  const auto [x, w, y] = roles_of(answer.inputs, answer.outputs);
  return Made::floats({shapes.attributes(), x->shape, w->shape, y->shape}) * sizeof(float);
}

// The others are compared when the operator is taken.
void check_nothing(const Shapes&) {}
void check_bias_gradient(const Shapes& shapes) { shapes.output_is(1, {shapes.output(0)[0]}); }

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2dBackwardData",
       .inputs = {{"gy", activation}, {"w", parameter}},
       .outputs = {{"gx", activation}},
       .check = check_nothing,
       .make = make_only<ConvolutionData>,
       .scratch = scratch<roles_backward_data, ConvolutionData>,
       .takes = takes<roles_backward_data>,
       .layout = "nhwc"},
      {.kind = "conv2dBackwardWeights",
       .inputs = {{"x", activation}, {"gy", activation}},
       .outputs = {{"gw", parameter}, {"gb", parameter, true}},
       .check = check_bias_gradient,
       .make = make_only<ConvolutionWeights>,
       .scratch = scratch<roles_backward_weights, ConvolutionWeights>,
       .takes = takes_weights,
       .layout = "nhwc"},
  };
}

const Registered kRegistered{operators()};

}  // namespace
}  // namespace arbalest::kernels
