// conv2d without padding and its gradients over planes, one channel after the other as images are stored. The lanes of a register are
// pixels: filters that do not fill registers leave no lane unused. Rows of outputs are a multiple of 8 long, so that a register of outputs
// has one or two pieces of rows, and what they read lies in as many pieces of the rows of x, whichever the tap. Nothing is unfolded in
// memory.
#include "cpu/kernels/convolution_in_planes.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/kernels/convolution_roles.h"
#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/product.h"

namespace arbalest::kernels {
namespace {

// Pixels of a piece, and pieces of a register.
constexpr int64_t kPiece = 8;
constexpr int kPieces = kLanes / kPiece > 0 ? kLanes / kPiece : 1;
struct Sizes {
  int64_t images, channels, height, width;  // x
  int64_t filters, out_height, out_width;   // y
  int64_t kernel_height, kernel_width;

  Sizes(const Shape& x, const Shape& w, const Shape& y)
      : images(x[0]),
        channels(x[1]),
        height(x[2]),
        width(x[3]),
        filters(w[0]),
        out_height(y[2]),
        out_width(y[3]),
        kernel_height(w[2]),
        kernel_width(w[3]) {}

  int64_t plane() const { return height * width; }
  int64_t out_plane() const { return out_height * out_width; }
  int64_t taps() const { return kernel_height * kernel_width; }
  // Values under a filter.
  int64_t depth() const { return channels * taps(); }
  int64_t registers() const { return out_plane() / kLanes; }
  // Of the whole operator: what it is worth to wake threads for.
  int64_t work() const { return images * out_plane() * depth(); }
};

// Where the pieces of a register of outputs lie in a plane of x, under the first tap.
struct Places {
  int64_t at[kPieces];
};

std::vector<Places> places_of(const Sizes& s) {
  std::vector<Places> places(static_cast<size_t>(s.registers()));
  for (size_t r = 0; r < places.size(); ++r) {
    for (int piece = 0; piece < kPieces; ++piece) {
      const int64_t pixel = static_cast<int64_t>(r) * kLanes + piece * kPiece;
      places[r].at[piece] = pixel / s.out_width * s.width + pixel % s.out_width;
    }
  }
  return places;
}

inline Floats load_pieces(const float* plane, const Places& places) {
#if defined(__AVX512F__)
  const __m512 first = _mm512_castps256_ps512(_mm256_loadu_ps(plane + places.at[0]));
  return reinterpret_cast<Floats>(_mm512_insertf32x8(first, _mm256_loadu_ps(plane + places.at[1]), 1));
#else
  return load(plane + places.at[0]);
#endif
}

inline Floats load_pieces(const bf16* plane, const Places& places) {
#if defined(__AVX512F__)
  const auto piece = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane + places.at[i])); };
  return widen(reinterpret_cast<Halves>(_mm256_inserti128_si256(_mm256_castsi128_si256(piece(0)), piece(1), 1)));
#else
  return load(plane + places.at[0]);
#endif
}

inline void add_pieces(float* plane, const Places& places, Floats values) {
#if defined(__AVX512F__)
  const auto add = [](float* to, __m256 piece) { _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), piece)); };
  add(plane + places.at[0], _mm512_maskz_extractf32x8_ps(0xff, reinterpret_cast<__m512>(values), 0));
  add(plane + places.at[1], _mm512_maskz_extractf32x8_ps(0xff, reinterpret_cast<__m512>(values), 1));
#else
  float* const to = plane + places.at[0];
  store(to, load(to) + values);
#endif
}

template <class T> class PlanesForward final : public Kernel {
 public:
  explicit PlanesForward(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.inputs[1].shape(), spec.outputs[0].shape()),
        places_(places_of(sizes_)),
        x_(input<T>(spec, 0)),
        w_(input<float>(spec, 1)),
        b_(input<float>(spec, 2)),
        y_(output<T>(spec, 0)),
        relu_(spec.attributes.number("relu", 0) != 0) {}

  void run(const StepContext&) override {
    const Sizes& s = sizes_;
    for_each(s.images, s.work(), [&](int64_t image) {
      const T* x = x_ + image * s.channels * s.plane();
      T* y = y_ + image * s.filters * s.out_plane();
      in_pieces<kTileRows>(s.filters, [&]<int Filters>(int64_t filter) {
        in_pieces<kTileVectors>(s.registers(), [&]<int Registers>(int64_t at) { convolve<Filters, Registers>(x, filter, at, y); });
      });
    });
  }

 private:
  template <int Filters, int Registers> [[gnu::noinline]] void convolve(const T* x, int64_t filter, int64_t at, T* y) const {
    const Sizes& s = sizes_;
    const int64_t depth = s.depth();
    const float* w = w_ + filter * depth;
    Places places[Registers];
    std::copy_n(&places_[static_cast<size_t>(at)], Registers, places);
    Floats sums[Filters][Registers];
#pragma GCC unroll 12
    for (int f = 0; f < Filters; ++f) {
      const Floats bias = b_ ? all(b_[filter + f]) : Floats{};
#pragma GCC unroll 2
      for (int r = 0; r < Registers; ++r) sums[f][r] = bias;
    }
    for (int64_t channel = 0; channel < s.channels; ++channel, x += s.plane()) {
      for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
        const T* row = x + kh * s.width;
        for (int64_t kw = 0; kw < s.kernel_width; ++kw, ++w) {
          Floats values[Registers];
#pragma GCC unroll 2
          for (int r = 0; r < Registers; ++r) values[r] = in_register(load_pieces(row + kw, places[r]));
#pragma GCC unroll 12
          for (int f = 0; f < Filters; ++f) {
            const Floats weight = in_register(all(w[f * depth]));
#pragma GCC unroll 2
            for (int r = 0; r < Registers; ++r) sums[f][r] += weight * values[r];
          }
        }
      }
    }
#pragma GCC unroll 12
    for (int f = 0; f < Filters; ++f) {
#pragma GCC unroll 2
      for (int r = 0; r < Registers; ++r)
        store(y + (filter + f) * s.out_plane() + (at + r) * kLanes, relu_ ? rectified(sums[f][r]) : sums[f][r]);
    }
  }

  const Sizes sizes_;
  const std::vector<Places> places_;
  const T* x_;           // (N, C, H, W)
  const float *w_, *b_;  // (O, C, KH, KW), (O) or null
  T* y_;                 // (N, O, OH, OW)
  const bool relu_;
};

// For each tap, the product of its weights (C, O) and gy (O, pixels) goes to the pixels under the tap, summed in f32.
template <class T> class PlanesData final : public Kernel {
 public:
  explicit PlanesData(const OperatorSpec& spec)
      : sizes_(spec.outputs[0].shape(), spec.inputs[1].shape(), spec.inputs[0].shape()),
        places_(places_of(sizes_)),
        gy_(input<T>(spec, 0)),
        w_(input<float>(spec, 1)),
        gx_(output<T>(spec, 0)),
        by_tap_(spec, floats(sizes_)),
        wide_(kWide ? 0 : static_cast<size_t>(omp_get_max_threads() * (gradients() + values()))) {}

  static size_t floats(const Sizes& s) { return static_cast<size_t>(s.taps() * s.filters * s.channels); }

  void run(const StepContext&) override {
    order_by_tap();
    for_each(sizes_.images, sizes_.work(), [&](int64_t image) {
      const T* gy = gy_ + image * gradients();
      T* gx = gx_ + image * values();
      if constexpr (kWide) return spread(gy, gx);
      float* const wide_gy = wide_.data() + omp_get_thread_num() * (gradients() + values());
      float* const wide_gx = wide_gy + gradients();
      for (int64_t at = 0; at < gradients(); at += kLanes) store(wide_gy + at, load(gy + at));
      spread(wide_gy, wide_gx);
      for_each_register(0, values(),
                        [&]<bool Partial>(int64_t at, int width) { store<Partial>(gx + at, load<Partial>(wide_gx + at, width), width); });
    });
  }

 private:
  static constexpr bool kWide = std::is_same_v<T, float>;

  // Of an image.
  int64_t gradients() const { return sizes_.filters * sizes_.out_plane(); }
  int64_t values() const { return sizes_.channels * sizes_.plane(); }

  void spread(const float* gy, float* gx) const {
    const Sizes& s = sizes_;
    std::fill_n(gx, values(), 0.0f);
    for (int64_t r = 0; r < s.registers(); r += kTileVectors) {
      const int64_t vectors = std::min<int64_t>(kTileVectors, s.registers() - r);
      for (int64_t tap = 0; tap < s.taps(); ++tap) {
        float* const under = gx + tap / s.kernel_width * s.width + tap % s.kernel_width;
        for (int64_t channel = 0, some; channel < s.channels; channel += some) {
          some = even_share(s.channels - channel, kTileRows);
          const auto add = [&](int64_t i, int64_t v, Floats sums) {
            add_pieces(under + (channel + i) * s.plane(), places_[static_cast<size_t>(r + v)], sums);
          };
          const Strided weights{&by_tap_[0] + tap * s.filters * s.channels + channel, 1, s.channels};
          if (vectors == kTileVectors)
            tile_of<kTileRows, kTileVectors>(some, weights, gy + r * kLanes, s.out_plane(), {s.filters}, add);
          else
            tile_of<kTileRows, 1>(some, weights, gy + r * kLanes, s.out_plane(), {s.filters}, add);
        }
      }
    }
  }

  // Weights (O, C, KH, KW) as (KH, KW, O, C).
  void order_by_tap() {
    const Sizes& s = sizes_;
    for (int64_t o = 0; o < s.filters; ++o) {
      for (int64_t tap = 0; tap < s.taps(); tap += kLanes) {
        for (int64_t c = 0; c < s.channels; c += kLanes) {
          const auto taps = static_cast<int>(std::min<int64_t>(kLanes, s.taps() - tap));
          const auto channels = static_cast<int>(std::min<int64_t>(kLanes, s.channels - c));
          Floats square[kLanes];
          for (int i = 0; i < kLanes; ++i) square[i] = i < channels ? load(w_ + (o * s.channels + c + i) * s.taps() + tap, taps) : Floats{};
          transpose(square);
          for (int i = 0; i < taps; ++i) store(&by_tap_[0] + ((tap + i) * s.filters + o) * s.channels + c, square[i], channels);
        }
      }
    }
  }

  const Sizes sizes_;
  const std::vector<Places> places_;
  const T* gy_;     // (N, O, OH, OW)
  const float* w_;  // (O, C, KH, KW)
  T* gx_;           // (N, C, H, W)
  const PlannedItems<float> by_tap_;
  std::vector<float> wide_;  // an image of gy and of gx for each thread, where they lie in another type
};

// Filters and neighbouring taps whose weights are summed at once: each is a dot product of gy and of x over the outputs of all images.
constexpr int kDotFilters = kLanes == 16 ? 5 : 2, kDotTaps = 5;

template <class T> class PlanesWeights final : public Kernel {
 public:
  explicit PlanesWeights(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.outputs[0].shape(), spec.inputs[1].shape()),
        places_(places_of(sizes_)),
        x_(input<T>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gw_(output<float>(spec, 0)),
        gb_(output<float>(spec, 1)) {}

  // Filters are independent of each other.
  void run(const StepContext&) override {
    const Sizes& s = sizes_;
    for_each((s.filters + kDotFilters - 1) / kDotFilters, s.work(), [&](int64_t block) {
      const int64_t first = block * kDotFilters;
      piece_of<kDotFilters>(std::min<int64_t>(kDotFilters, s.filters - first), first, [&]<int Filters>(int64_t filter) {
        for (int64_t channel = 0; channel < s.channels; ++channel) {
          for (int64_t kh = 0; kh < s.kernel_height; ++kh)
            in_pieces<kDotTaps>(s.kernel_width, [&]<int Taps>(int64_t kw) { multiply<Filters, Taps>(filter, channel, kh, kw); });
        }
        if (gb_) add_biases(filter, Filters);
      });
    });
  }

 private:
  template <int Filters, int Taps> [[gnu::noinline]] void multiply(int64_t filter, int64_t channel, int64_t kh, int64_t kw) const {
    const Sizes& s = sizes_;
    Floats sums[Filters][Taps] = {};
    for (int64_t image = 0; image < s.images; ++image) {
      const T* x = x_ + (image * s.channels + channel) * s.plane() + kh * s.width + kw;
      const T* gy = gy_ + (image * s.filters + filter) * s.out_plane();
      for (size_t r = 0; r < places_.size(); ++r, gy += kLanes) {
        Floats values[Taps];
#pragma GCC unroll 5
        for (int t = 0; t < Taps; ++t) values[t] = in_register(load_pieces(x + t, places_[r]));
#pragma GCC unroll 5
        for (int f = 0; f < Filters; ++f) {
          const Floats gradient = in_register(load(gy + f * s.out_plane()));
#pragma GCC unroll 5
          for (int t = 0; t < Taps; ++t) sums[f][t] += gradient * values[t];
        }
      }
    }
    constexpr int kSums = Filters * Taps;
    float totals[kSums + kLanes];
#pragma GCC unroll 4
    for (int first = 0; first < kSums; first += kLanes) {
      Floats some[kLanes] = {};
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        if (first + i < kSums) some[i] = sums[(first + i) / Taps][(first + i) % Taps];
      }
      store(totals + first, totals_of_each(some));
    }
    for (int f = 0; f < Filters; ++f)
      std::copy_n(totals + f * Taps, Taps, gw_ + (filter + f) * s.depth() + channel * s.taps() + kh * s.kernel_width + kw);
  }

  // A plane at a time, since a long sum in float is inexact.
  void add_biases(int64_t filter, int64_t filters) const {
    const Sizes& s = sizes_;
    for (int64_t f = filter; f < filter + filters; ++f) {
      double total = 0;
      for (int64_t image = 0; image < s.images; ++image) {
        const T* gy = gy_ + (image * s.filters + f) * s.out_plane();
        Floats sums{};
        for (int64_t at = 0; at < s.out_plane(); at += kLanes) sums += load(gy + at);
        total += static_cast<double>(total_of(sums));
      }
      gb_[f] = static_cast<float>(total);
    }
  }

  const Sizes sizes_;
  const std::vector<Places> places_;
  const T *x_, *gy_;  // (N, C, H, W), (N, O, OH, OW)
  float *gw_, *gb_;   // (O, C, KH, KW), (O) or null
};

template <RolesOf roles_of> bool takes(const LoweringRequest& request, const std::string&) {
  const auto [x, w, y] = roles_of(request.inputs, request.outputs);
  return x && w && y && runs_in_planes(request, *x, w->shape, *y);
}

size_t scratch_of_data(const Shapes&, const LoweringAnswer& answer) {
  const auto [x, w, y] = roles_backward_data(answer.inputs, answer.outputs);
  return PlanesData<float>::floats({x->shape, w->shape, y->shape}) * sizeof(float);
}

// The other shapes are compared when the operator is taken.
void check_nothing(const Shapes&) {}
void check_bias(const Shapes& shapes) { shapes.input_is(2, {shapes.input(1)[0]}); }
void check_bias_gradient(const Shapes& shapes) { shapes.output_is(1, {shapes.output(0)[0]}); }

std::vector<Operator> operators() {
  using enum Role;
  return {
      {.kind = "conv2d",
       .inputs = {{"x", canonical}, {"w", parameter}, {"b", parameter, true}},
       .outputs = {{"y", canonical}},
       .check = check_bias,
       .make = make_typed<PlanesForward>,
       .takes = takes<roles_forward>},
      {.kind = "conv2dBackwardData",
       .inputs = {{"gy", canonical}, {"w", parameter}},
       .outputs = {{"gx", canonical}},
       .check = check_nothing,
       .make = make_typed<PlanesData>,
       .scratch = scratch_of_data,
       .takes = takes<roles_backward_data>},
      {.kind = "conv2dBackwardWeights",
       .inputs = {{"x", canonical}, {"gy", canonical}},
       .outputs = {{"gw", parameter}, {"gb", parameter, true}},
       .check = check_bias_gradient,
       .make = make_typed<PlanesWeights>,
       .takes = takes<roles_backward_weights>},
  };
}

const Registered kRegistered{operators()};

bool may_be_planes(const TensorSpec& activation) { return activation.layout.empty() || activation.layout == kPlain; }

}  // namespace

bool runs_in_planes(const LoweringRequest& request, const TensorSpec& x_spec, const Shape& w, const TensorSpec& y_spec) {
  const Shape &x = x_spec.shape, &y = y_spec.shape;
  const Attributes& attributes = request.attributes;
  if (kLanes < 8 || !may_be_planes(x_spec) || !may_be_planes(y_spec)) return false;
  if (x.size() != 4 || w.size() != 4 || y.size() != 4 || w[1] != x[1] || attributes.number("groups", 1) != 1) return false;
  if (attributes.list("padding") != std::vector<double>{0, 0} || attributes.list("stride") != std::vector<double>{1, 1}) return false;
  if (x[2] < w[2] || x[3] < w[3] || y != Shape{x[0], w[0], x[2] - w[2] + 1, x[3] - w[3] + 1}) return false;
  // oneDNN's are made for filters that fill blocks.
  return w[0] % kLanes != 0 && y[3] % kPiece == 0 && y[2] * y[3] % kLanes == 0;
}

}  // namespace arbalest::kernels
