// What the forward pass over planes multiplies: floats as they lie, or planes of pairs with the weights in the same order. A pair is of
// neighbouring channels, or of neighbouring columns where that leaves fewer halves unused. What is beyond the last column of a filter meets
// a weight of zero, and counts for nothing while it is finite.
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
  explicit PlanesInItems(const Sizes& s) : sizes_(s), of_channels_(couples() * s.kernel_width <= s.channels * row_pairs()) {
    for (int64_t plane = 0; plane < planes(); ++plane) {
      for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
        for (int64_t kw = 0; kw < s.kernel_width; kw += of_channels_ ? 1 : 2) {
          under.push_back(plane * s.plane() + kh * s.width + kw);
        }
      }
    }
  }

  int64_t of_image() const { return planes() * sizes_.plane(); }
  int64_t of_filters() const { return sizes_.filters * static_cast<int64_t>(under.size()); }

  // In pairs, which are written to `to`.
  const Pair* image(const bf16* x, Pair* to) const {
    of_channels_ ? pair_channels(x, to) : pair_columns(x, to);
    return to;
  }

  const Pair* filters(const float* w, Pair* to) const {
    of_channels_ ? pair_channels_of_filters(w, to) : pair_columns_of_filters(w, to);
    return to;
  }

  std::vector<int64_t> under;

 private:
  // Of channels; and in a row of a filter.
  int64_t couples() const { return (sizes_.channels + 1) / 2; }
  int64_t row_pairs() const { return (sizes_.kernel_width + 1) / 2; }
  int64_t planes() const { return of_channels_ ? couples() : sizes_.channels; }

  void pair_channels(const bf16* x, Pair* to) const {
    const int64_t plane = sizes_.plane();
    for (int64_t channel = 0; channel < sizes_.channels; channel += 2, x += 2 * plane, to += plane)
      pair_planes(x, x + plane, channel + 1 < sizes_.channels ? plane : 0, to);
  }

  void pair_columns(const bf16* x, Pair* to) const {
    const int64_t plane = sizes_.plane();
    for (int64_t channel = 0; channel < sizes_.channels; ++channel, x += plane, to += plane) pair_planes(x, x + 1, plane - 1, to);
  }

  // The second halves from `seconds` on are zero.
  void pair_planes(const bf16* first, const bf16* second, int64_t seconds, Pair* to) const {
    for_each_register(0, sizes_.plane(), [&]<bool Partial>(int64_t at, int width) {
      const auto left = static_cast<int>(std::clamp<int64_t>(seconds - at, 0, width));
      const Floats others = left == kLanes ? load(second + at) : load(second + at, left);
      store<Partial>(to + at, paired_exactly(load<Partial>(first + at, width), others), width);
    });
  }

  void pair_channels_of_filters(const float* w, Pair* to) const {
    const int64_t taps = sizes_.taps();
    for (int64_t filter = 0; filter < sizes_.filters; ++filter) {
      for (int64_t left = sizes_.channels; left > 0; left -= 2, to += taps) {
        const float* const second = w + taps;
        for_each_register(0, taps, [&]<bool Partial>(int64_t at, int width) {
          const Floats others = left > 1 ? load<Partial>(second + at, width) : Floats{};
          store<Partial>(to + at, paired(load<Partial>(w + at, width), others), width);
        });
        w += std::min<int64_t>(left, 2) * taps;
      }
    }
  }

  void pair_columns_of_filters(const float* w, Pair* to) const {
    const int64_t width = sizes_.kernel_width;
    for (int64_t row = 0; row < sizes_.filters * sizes_.channels * sizes_.kernel_height; ++row, w += width) {
      for (int64_t kw = 0; kw < width; kw += 2) {
        const auto half = [&](int64_t at) { return uint32_t{at < width ? from_float<bf16>(w[at]).bits : uint16_t{0}}; };
        *to++ = {half(kw) | half(kw + 1) << 16};
      }
    }
  }

  const Sizes sizes_;
  const bool of_channels_;
};

}  // namespace arbalest::kernels::planes
