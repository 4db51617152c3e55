// conv2d without padding and its gradient of x over planes, as sums of taps: nothing is unfolded in memory. And which of them run
// otherwise.
#include "cpu/kernels/convolution_in_planes.h"

#include <algorithm>
#include <vector>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/planes_in_items.h"
#include "cpu/kernels/product.h"
#include "cpu/kernels/tiles.h"
#include "cpu/kernels/winograd.h"

namespace arbalest::kernels {
namespace {

using namespace planes;

template <class T> class PlanesForward final : public Kernel {
 public:
  explicit PlanesForward(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.inputs[1].shape(), spec.outputs[0].shape()),
        places_(places_of<kPieces>(sizes_)),
        items_(sizes_),
        x_(input<T>(spec, 0)),
        w_(input<float>(spec, 1)),
        b_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)),
        relu_(spec.attributes.number("relu", 0) != 0),
        scratch_(spec, static_cast<size_t>(items_.of_filters() + omp_get_max_threads() * items_.of_image())) {}

  // Of one thread.
  static size_t items(const Sizes& s) {
    const PlanesInItems<T> items(s);
    return static_cast<size_t>(items.of_filters() + items.of_image());
  }

  void run(const StepContext&) override {
    const Sizes& s = sizes_;
    const Item* const w = items_.filters(w_, &scratch_[0]);
    for_each(s.images, s.work(), [&](int64_t image) {
      Item* const own = &scratch_[0] + items_.of_filters() + omp_get_thread_num() * items_.of_image();
      const Item* x = items_.image(x_ + image * s.channels * s.plane(), own);
      T* y = y_ + image * s.filters * s.out_plane();
      in_pieces<kTileRows>(s.filters, [&]<int Filters>(int64_t filter) {
        in_pieces<kTileVectors>(s.out_plane() / kLanes,
                                [&]<int Registers>(int64_t at) { convolve<Filters, Registers>(x, w, filter, at, y); });
      });
    });
  }

 private:
  using Item = ItemOf<T>;

  template <int Filters, int Registers>
  [[gnu::noinline]] void convolve(const Item* x, const Item* w, int64_t filter, int64_t at, T* y) const {
    const auto depth = static_cast<int64_t>(items_.under.size());
    const int64_t* const under = items_.under.data();
    w += filter * depth;
    Places<kPieces> places[Registers];
    std::copy_n(&places_[static_cast<size_t>(at)], Registers, places);
    Floats sums[Filters][Registers];
#pragma GCC unroll 12
    for (int f = 0; f < Filters; ++f) {
      const Floats bias = b_ ? all(b_[filter + f]) : Floats{};
#pragma GCC unroll 2
      for (int r = 0; r < Registers; ++r) sums[f][r] = bias;
    }
    for (int64_t d = 0; d < depth; ++d, ++w) {
      RegisterOf<Item> values[Registers];
#pragma GCC unroll 2
      for (int r = 0; r < Registers; ++r) values[r] = in_register(load_pieces(x + under[d], places[r]));
#pragma GCC unroll 12
      for (int f = 0; f < Filters; ++f) {
        const auto weight = in_register(all(w[f * depth]));
#pragma GCC unroll 2
        for (int r = 0; r < Registers; ++r) sums[f][r] = multiply_add(sums[f][r], weight, values[r]);
      }
    }
#pragma GCC unroll 12
    for (int f = 0; f < Filters; ++f) {
#pragma GCC unroll 2
      for (int r = 0; r < Registers; ++r)
        store(y + (filter + f) * sizes_.out_plane() + (at + r) * kLanes, relu_ ? rectified(sums[f][r]) : sums[f][r]);
    }
  }

  const Sizes sizes_;
  const std::vector<Places<kPieces>> places_;
  const PlanesInItems<T> items_;
  const T* x_;           // (N, C, H, W)
  const float *w_, *b_;  // (O, C, KH, KW), (O) or null
  T* y_;                 // (N, O, OH, OW)
  const bool relu_;
  const PlannedItems<Item> scratch_;  // the filters, and an image for each thread, in items
};

// For each tap, the product of its weights (C, O) and gy (O, pixels) goes to the pixels under the tap, summed in f32. In bf16 both are in
// pairs of filters.
template <class T> class PlanesData final : public Kernel {
 public:
  explicit PlanesData(const OperatorSpec& spec)
      : sizes_(spec.outputs[0].shape(), spec.inputs[1].shape(), spec.inputs[0].shape()),
        places_(places_of<kPieces>(sizes_)),
        gy_(input<T>(spec, 0)),
        w_(input<float>(spec, 1)),
        gx_(output<T>(spec, 0)),
        scratch_(spec, of_weights(sizes_) + static_cast<size_t>(omp_get_max_threads()) * of_image(sizes_)) {}

  // Of one thread, of 4 bytes.
  static size_t items(const Sizes& s) { return of_weights(s) + of_image(s); }

  void run(const StepContext&) override {
    order_by_tap();
    for_each(sizes_.images, sizes_.work(), [&](int64_t image) {
      const T* gy = gy_ + image * sizes_.filters * sizes_.out_plane();
      T* gx = gx_ + image * values(sizes_);
      if constexpr (!kPaired<Item>) {
        spread(gy, gx);
      } else {
        Item* const pairs = &scratch_[0] + of_weights(sizes_) + static_cast<size_t>(omp_get_thread_num()) * of_image(sizes_);
        float* const wide_gx = reinterpret_cast<float*>(pairs + depth(sizes_) * sizes_.out_plane());
        pair_filters(gy, pairs);
        spread(pairs, wide_gx);
        for_each_register(0, values(sizes_),
                          [&]<bool Partial>(int64_t at, int width) { store<Partial>(gx + at, load<Partial>(wide_gx + at, width), width); });
      }
    });
  }

 private:
  using Item = ItemOf<T>;

  // The items of all filters, at a tap and at a pixel.
  static int64_t depth(const Sizes& s) { return items_for<Item>(s.filters); }
  // Of an image of gx.
  static int64_t values(const Sizes& s) { return s.channels * s.plane(); }
  static size_t of_weights(const Sizes& s) { return static_cast<size_t>(s.taps() * depth(s) * s.channels); }
  // An image of gy in pairs, and one of gx in f32.
  static size_t of_image(const Sizes& s) { return kPaired<Item> ? static_cast<size_t>(depth(s) * s.out_plane() + values(s)) : 0; }

  void pair_filters(const T* gy, Item* pairs) const {
    const int64_t plane = sizes_.out_plane();
    for (int64_t o = 0; o < sizes_.filters; o += 2, gy += 2 * plane, pairs += plane) {
      const bool both = o + 1 < sizes_.filters;
      for (int64_t at = 0; at < plane; at += kLanes)
        store(pairs + at, paired_exactly(load(gy + at), both ? load(gy + plane + at) : Floats{}));
    }
  }

  void spread(const Item* gy, float* gx) const {
    const Sizes& s = sizes_;
    std::fill_n(gx, values(s), 0.0f);
    const int64_t registers = s.out_plane() / kLanes;
    for (int64_t r = 0; r < registers; r += kTileVectors) {
      const int64_t vectors = std::min<int64_t>(kTileVectors, registers - r);
      for (int64_t tap = 0; tap < s.taps(); ++tap) {
        float* const under = gx + tap / s.kernel_width * s.width + tap % s.kernel_width;
        for (int64_t channel = 0, some; channel < s.channels; channel += some) {
          some = even_share(s.channels - channel, kTileRows);
          const auto add = [&](int64_t i, int64_t v, Floats sums) {
            add_pieces(under + (channel + i) * s.plane(), places_[static_cast<size_t>(r + v)], sums);
          };
          const StridedOf<Item> weights{&scratch_[0] + tap * depth(s) * s.channels + channel, 1, s.channels};
          if (vectors == kTileVectors)
            tile_of<kTileRows, kTileVectors>(some, weights, gy + r * kLanes, s.out_plane(), {depth(s)}, add);
          else
            tile_of<kTileRows, 1>(some, weights, gy + r * kLanes, s.out_plane(), {depth(s)}, add);
        }
      }
    }
  }

  // Weights (O, C, KH, KW) as items (KH, KW, O, C).
  void order_by_tap() {
    const Sizes& s = sizes_;
    for (int64_t item = 0; item < depth(s); ++item) {
      for (int64_t tap = 0; tap < s.taps(); tap += kLanes) {
        for (int64_t c = 0; c < s.channels; c += kLanes) {
          const auto taps = static_cast<int>(std::min<int64_t>(kLanes, s.taps() - tap));
          const auto channels = static_cast<int>(std::min<int64_t>(kLanes, s.channels - c));
          const auto square_of = [&](int64_t o, Floats(&square)[kLanes]) {
            for (int i = 0; i < kLanes; ++i)
              square[i] = o < s.filters && i < channels ? load(w_ + (o * s.channels + c + i) * s.taps() + tap, taps) : Floats{};
            transpose(square);
          };
          Item* const to = &scratch_[0] + (tap * depth(s) + item) * s.channels + c;
          Floats first[kLanes], second[kLanes];
          if constexpr (!kPaired<Item>) {
            square_of(item, first);
            for (int i = 0; i < taps; ++i) store(to + i * depth(s) * s.channels, first[i], channels);
          } else {
            square_of(2 * item, first);
            square_of(2 * item + 1, second);
            for (int i = 0; i < taps; ++i) store(to + i * depth(s) * s.channels, paired(first[i], second[i]), channels);
          }
        }
      }
    }
  }

  const Sizes sizes_;
  const std::vector<Places<kPieces>> places_;
  const T* gy_;                       // (N, O, OH, OW)
  const float* w_;                    // (O, C, KH, KW)
  T* gx_;                             // (N, C, H, W)
  const PlannedItems<Item> scratch_;  // the weights by tap, and an image of gy and of gx for each thread
};

template <RolesOf roles_of, template <class> class Made> size_t scratch(const Shapes&, const LoweringAnswer& answer) {
  const auto [x, w, y] = roles_of(answer.inputs, answer.outputs);
  const Sizes sizes(x->shape, w->shape, y->shape);
  return for_type(x->type, [&]<class T>() { return Made<T>::items(sizes); }) * sizeof(float);
}

const Registered kRegistered{
    {planes_forward_operator({make_typed<PlanesForward>, takes_planes<roles_forward>, scratch<roles_forward, PlanesForward>}),
     planes_data_operator({make_typed<PlanesData>, takes_planes<roles_backward_data>, scratch<roles_backward_data, PlanesData>})}};

bool may_be_planes(const TensorSpec& activation) { return activation.layout.empty() || activation.layout == kPlain; }

// The other shapes are compared when the operator is taken.
void check_nothing(const Shapes&) {}
void check_bias(const Shapes& shapes) { shapes.input_is(2, {shapes.input(1)[0]}); }
void check_bias_gradient(const Shapes& shapes) { shapes.output_is(1, {shapes.output(0)[0]}); }

}  // namespace

Operator planes_forward_operator(const OwnOperator& own) {
  using enum Role;
  return own.complete({.kind = "conv2d",
                       .inputs = {{"x", canonical}, {"w", parameter}, {"b", parameter, true}},
                       .outputs = {{"y", canonical}},
                       .check = check_bias,
                       .make = own.make});
}

Operator planes_data_operator(const OwnOperator& own) {
  using enum Role;
  return own.complete({.kind = "conv2dBackwardData",
                       .inputs = {{"gy", canonical}, {"w", parameter}},
                       .outputs = {{"gx", canonical}},
                       .check = check_nothing,
                       .make = own.make});
}

Operator planes_weights_operator(const OwnOperator& own) {
  using enum Role;
  return own.complete({.kind = "conv2dBackwardWeights",
                       .inputs = {{"x", canonical}, {"gy", canonical}},
                       .outputs = {{"gw", parameter}, {"gb", parameter, true}},
                       .check = check_bias_gradient,
                       .make = own.make});
}

bool runs_in_planes(const LoweringRequest& request, const ConvolutionRoles& roles) {
  if (kLanes < 8 || !roles.x || !roles.w || !roles.y || !may_be_planes(*roles.x) || !may_be_planes(*roles.y)) return false;
  const Shape &x = roles.x->shape, &w = roles.w->shape, &y = roles.y->shape;
  const Attributes& attributes = request.attributes;
  if (x.size() != 4 || w.size() != 4 || y.size() != 4 || w[1] != x[1] || attributes.number("groups", 1) != 1) return false;
  if (attributes.list("padding") != std::vector<double>{0, 0} || attributes.list("stride") != std::vector<double>{1, 1}) return false;
  if (x[2] < w[2] || x[3] < w[3] || y != Shape{x[0], w[0], x[2] - w[2] + 1, x[3] - w[3] + 1}) return false;
  // oneDNN's are made for filters that fill blocks.
  return w[0] % kLanes != 0 && y[3] % kPiece == 0 && y[2] * y[3] % kLanes == 0;
}

Way way_of(const LoweringRequest& request, const ConvolutionRoles& roles) {
  const Shape &x = roles.x->shape, &w = roles.w->shape, &y = roles.y->shape;
  // In bfloat16 the products are of float32.
  const bool is_bf16 = request.precision == Type::bf16;
  if (w[2] != 5 || w[3] != 5 || (is_bf16 && has_tiles())) return Way::taps;
  const auto up = [](int64_t size, int64_t unit) { return (size + unit - 1) / unit; };
  const auto registers = [&](int64_t count) { return up(count, kLanes); };
  // Of the gradient of x tiles are of x, and filters are its channels.
  const bool is_data = roles.x == &request.outputs[0], is_weights = roles.w == &request.outputs[0];
  const Shape& tiled = is_data ? x : y;
  const int64_t tiles = up(tiled[2], winograd::kTile) * up(tiled[3], winograd::kTile);
  const int64_t channels = w[is_data ? 0 : 1], filters = w[is_data ? 1 : 0];
  // In multiply-adds of registers, or what takes as long as these. In double, where no shape is too large.
  constexpr double kOfPatch = 600, kOfOutputs = 400, kOfWeights = 400;
  const auto of = [](auto... extents) { return (1.0 * ... * static_cast<double>(extents)); };
  const double weights = kOfWeights * of(channels, registers(filters));
  // Of registers of tiles: of their patches, of their outputs, and of the channels that are multiplied for each of these.
  const auto cost = [&](int64_t images, int64_t patches, int64_t outputs) {
    return of(images, tiles) * (winograd::kProducts<5> * of(channels, outputs) + kOfPatch * of(patches) + kOfOutputs * of(outputs)) +
           weights;
  };
  // Sums of pairs take half the multiply-adds, and reach four fifths of their peak.
  const double taps = of(y[0], y[2], y[3], w[0], w[1], w[2], w[3]) / kLanes * (is_bf16 && kLanes == 16 ? 0.625 : 1);
  const double of_channels = cost(x[0], registers(channels), registers(filters));
  // What the transforms of images give cannot be added up to weights: each lane would have a sum of its own.
  const double of_images = is_weights ? of_channels : cost(registers(x[0]), channels, filters);
  if (taps < std::min(of_channels, of_images)) return Way::taps;
  return of_images < of_channels ? Way::winograd_of_images : Way::winograd;
}

}  // namespace arbalest::kernels
