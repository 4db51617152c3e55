// What the forward pass over planes multiplies: floats as they lie, or planes of pairs with the weights in the same order. A pair is of
// neighbouring channels, or of neighbouring columns where that leaves fewer halves unused.
#pragma once

#include <vector>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/planes.h"

namespace arbalest::kernels::planes {

template <class T> class PlanesInItems;

template <> class PlanesInItems<float> {
 public:
  explicit PlanesInItems(const Sizes& s) {
    for (int64_t channel = 0; channel < s.channels; ++channel) {
      for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
        for (int64_t kw = 0; kw < s.kernel_width; ++kw) under.push_back(channel * s.plane() + kh * s.width + kw);
      }
    }
  }

  // Items of an image, and of all filters, that are made of what is given.
  int64_t of_image() const { return 0; }
  int64_t of_filters() const { return 0; }

  const float* image(const float* x, float*) const { return x; }
  const float* filters(const float* w, float*) const { return w; }

  // Where the items of a filter lie in an image, under the first output.
  std::vector<int64_t> under;
};

template <> class PlanesInItems<bf16> {
 public:
  explicit PlanesInItems(const Sizes& s)
      : sizes_(s), of_channels_((s.channels + 1) / 2 * s.kernel_width <= s.channels * columns(s)), planes_(planes_of(s)) {
    for (int64_t first = 0; first < s.channels; first += of_channels_ ? 2 : 1) {
      for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
        for (int64_t kw = 0; kw < s.kernel_width; kw += of_channels_ ? 1 : 2) {
          const int64_t plane = of_channels_ ? first / 2 : kw + 1 < s.kernel_width ? first : s.channels + first;
          under.push_back(plane * s.plane() + kh * s.width + kw);
        }
      }
    }
  }

  int64_t of_image() const { return planes_ * sizes_.plane(); }
  int64_t of_filters() const { return sizes_.filters * static_cast<int64_t>(under.size()); }

  // In pairs, which are written to `to`.
  const Pair* image(const bf16* x, Pair* to) const {
    const Sizes& s = sizes_;
    for (int64_t channel = 0; channel < s.channels; channel += of_channels_ ? 2 : 1, x += (of_channels_ ? 2 : 1) * s.plane()) {
      if (!of_channels_) {
        pair_planes(x, x + 1, s.plane() - 1, to + channel * s.plane());
        // The last column of filters of odd width stands alone.
        if (s.kernel_width % 2 == 1) pair_planes(x, x, 0, to + (s.channels + channel) * s.plane());
      } else {
        pair_planes(x, x + s.plane(), channel + 1 < s.channels ? s.plane() : 0, to + channel / 2 * s.plane());
      }
    }
    return to;
  }

  const Pair* filters(const float* w, Pair* to) const {
    const Sizes& s = sizes_;
    const int64_t taps = s.taps();
    Pair* next = to;
    for (int64_t filter = 0; filter < s.filters; ++filter) {
      for (int64_t channel = 0; channel < s.channels; channel += 2) {
        if (!of_channels_) break;
        const float* const tap = w + (filter * s.channels + channel) * taps;
        const bool both = channel + 1 < s.channels;
        for_each_register(0, taps, [&]<bool Partial>(int64_t at, int width) {
          store<Partial>(next + at, paired(load<Partial>(tap + at, width), both ? load<Partial>(tap + taps + at, width) : Floats{}), width);
        });
        next += taps;
      }
    }
    if (of_channels_) return to;
    for (const float* row = w; row < w + s.filters * s.depth(); row += s.kernel_width) {
      for (int64_t kw = 0; kw < s.kernel_width; kw += 2) {
        const auto half = [&](int64_t at) { return uint32_t{at < s.kernel_width ? from_float<bf16>(row[at]).bits : uint16_t{0}}; };
        *next++ = {half(kw) | half(kw + 1) << 16};
      }
    }
    return to;
  }

  std::vector<int64_t> under;

 private:
  // Pairs in a row of a filter, of neighbouring columns.
  static int64_t columns(const Sizes& s) { return (s.kernel_width + 1) / 2; }

  int64_t planes_of(const Sizes& s) const { return of_channels_ ? (s.channels + 1) / 2 : s.channels * (1 + s.kernel_width % 2); }

  // The second halves from `seconds` on are zero.
  void pair_planes(const bf16* first, const bf16* second, int64_t seconds, Pair* to) const {
    for_each_register(0, sizes_.plane(), [&]<bool Partial>(int64_t at, int width) {
      const auto left = static_cast<int>(std::clamp<int64_t>(seconds - at, 0, width));
      const Floats seconds_here = left == kLanes ? load(second + at) : load(second + at, left);
      store<Partial>(to + at, paired_again(load<Partial>(first + at, width), seconds_here), width);
    });
  }

  const Sizes sizes_;
  const bool of_channels_;
  const int64_t planes_;
};

}  // namespace arbalest::kernels::planes
