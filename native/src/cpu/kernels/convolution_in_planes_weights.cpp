// The gradient of the weights of conv2d without padding, over planes: each is a dot product of gy and of x over the outputs of all images.
// In bf16 the pairs are of neighbouring pixels, as they lie.
#include <algorithm>
#include <vector>

#include "cpu/kernels/convolution_in_planes.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/planes.h"

namespace arbalest::kernels {
namespace {

using namespace planes;

// Filters and neighbouring taps whose weights are summed at once.
constexpr int kDotFilters = kLanes == 16 ? 5 : 2, kDotTaps = 5;

// A register of outputs; the first half of one, and zeros, if it is not whole.
template <bool Whole> Floats load_outputs(const float* from) { return load(from); }
template <bool Whole> Words load_outputs(const bf16* from) { return Whole ? load_neighbours(from) : load_neighbours(from, kLanes); }

template <class T> class PlanesWeights final : public Kernel {
 public:
  explicit PlanesWeights(const OperatorSpec& spec)
      : sizes_(spec.inputs[0].shape(), spec.outputs[0].shape(), spec.inputs[1].shape()),
        places_(places_of<kPiecesOf<T>>(sizes_)),
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
        for (int64_t f = filter; gb_ && f < filter + Filters; ++f) gb_[f] = sum_of_channel(gy_, s.images, s.filters, s.out_plane(), f);
      });
    });
  }

 private:
  // Of a register; in bf16 pairs of neighbours.
  static constexpr int64_t kOutputs = kPiecesOf<T> * kPiece;

  template <int Filters, int Taps> [[gnu::noinline]] void multiply(int64_t filter, int64_t channel, int64_t kh, int64_t kw) const {
    const Sizes& s = sizes_;
    Floats sums[Filters][Taps] = {};
    const auto add = [&]<bool Whole>(const T* x, const T* gy, const Places<kPiecesOf<T>>& places) [[gnu::always_inline]] {
      RegisterOf<ItemOf<T>> values[Taps];
#pragma GCC unroll 5
      for (int t = 0; t < Taps; ++t) values[t] = in_register(load_pieces(x + t, places));
#pragma GCC unroll 5
      for (int f = 0; f < Filters; ++f) {
        const auto gradient = in_register(load_outputs<Whole>(gy + f * s.out_plane()));
#pragma GCC unroll 5
        for (int t = 0; t < Taps; ++t) sums[f][t] = multiply_add(sums[f][t], gradient, values[t]);
      }
    };
    const auto whole = static_cast<size_t>(s.out_plane() / kOutputs);
    for (int64_t image = 0; image < s.images; ++image) {
      const T* x = x_ + (image * s.channels + channel) * s.plane() + kh * s.width + kw;
      const T* gy = gy_ + (image * s.filters + filter) * s.out_plane();
      for (size_t r = 0; r < whole; ++r, gy += kOutputs) add.template operator()<true>(x, gy, places_[r]);
      if constexpr (kOutputs > kLanes) {
        if (whole < places_.size()) add.template operator()<false>(x, gy, places_[whole]);
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

  const Sizes sizes_;
  const std::vector<Places<kPiecesOf<T>>> places_;
  const T *x_, *gy_;  // (N, C, H, W), (N, O, OH, OW)
  float *gw_, *gb_;   // (O, C, KH, KW), (O) or null
};

const Registered kRegistered{{planes_weights_operator({make_typed<PlanesWeights>, takes_planes<roles_backward_weights>})}};

}  // namespace
}  // namespace arbalest::kernels
