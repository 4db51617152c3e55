// How the tensors of a convolution lie that is computed by Winograd's transforms. These take a plane of a block of channels, or of a
// channel of several images, at a time, and the taps between a block of channels and one of filters, (taps, channels, filters).
#pragma once

#include <algorithm>

#include "cpu/kernels/convolution_3x3.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/planes.h"

namespace arbalest::kernels::winograd {

using convolution_3x3::Direction;

// Rows and columns of a part of a square are exchanged; `load_one(i)` -> `store_one(i, value)`.
template <class Load, class Store> [[gnu::always_inline]] inline void exchange(const Load& load_one, const Store& store_one) {
  Floats square[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) square[i] = load_one(i);
  transpose(square);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) store_one(i, square[i]);
}

// `count` planes of `pixels` pixels that lie `step` pixels apart, to as many lanes of the registers of pixels; the other lanes are zeros.
template <class T> [[gnu::noinline]] void read_planes(const T* from, int64_t step, int64_t count, int64_t pixels, float* to) {
  for (int64_t pixel = 0; pixel < pixels; pixel += kLanes) {
    const int width = static_cast<int>(std::min<int64_t>(kLanes, pixels - pixel));
    exchange([&](int i) { return i < count ? load(from + i * step + pixel, width) : Floats{}; },
             [&](int i, Floats value) {
               if (i < width) store(to + (pixel + i) * kLanes, value);
             });
  }
}

// The inverse.
template <class T> [[gnu::noinline]] void write_planes(const float* from, int64_t step, int64_t count, int64_t pixels, T* to) {
  for (int64_t pixel = 0; pixel < pixels; pixel += kLanes) {
    const int width = static_cast<int>(std::min<int64_t>(kLanes, pixels - pixel));
    exchange([&](int i) { return i < width ? load(from + (pixel + i) * kLanes) : Floats{}; },
             [&](int i, Floats value) {
               if (i < count) store(to + i * step + pixel, value, width);
             });
  }
}

// Blocks of channels, which are read and written as they lie.
template <class T> class ActivationInBlocks {
 public:
  using Pixel = T;

  explicit ActivationInBlocks(const Tensor& tensor) : shape_(tensor.shape()), data_(tensor.as<T>()) {}

  // Floats that a plane takes while it is read or written.
  static int64_t floats(const Blocked&) { return 0; }

  const T* read(int64_t image, int64_t block, float*) const { return data_ + image * shape_.image() + block * shape_.plane(); }
  T* write(int64_t image, int64_t block, float*) const { return data_ + image * shape_.image() + block * shape_.plane(); }
  void written(int64_t, int64_t, const float*) const {}

  // Of each channel, over all pixels of all images.
  void sum_channels(float* sums) const { sum_biases(shape_, Steps(shape_, kActivations), data_, sums); }

 private:
  const Blocked shape_;
  T* data_;
};

// Planes of channels, one after the other.
template <class T> class ActivationInPlanes {
 public:
  using Pixel = float;

  explicit ActivationInPlanes(const Tensor& tensor)
      : images_(tensor.shape()[0]), channels_(tensor.shape()[1]), pixels_(tensor.shape()[2] * tensor.shape()[3]), data_(tensor.as<T>()) {}

  static int64_t floats(const Blocked& shape) { return shape.plane(); }

  const float* read(int64_t image, int64_t block, float* plane) const {
    read_planes(begin(image, block), pixels_, channels_of(block), pixels_, plane);
    return plane;
  }

  float* write(int64_t, int64_t, float* plane) const { return plane; }
  void written(int64_t image, int64_t block, const float* plane) const {
    write_planes(plane, pixels_, channels_of(block), pixels_, begin(image, block));
  }

  void sum_channels(float* sums) const {
    for_each(channels_, images_ * channels_ * pixels_,
             [&](int64_t channel) { sums[channel] = planes::sum_of_channel(data_, images_, channels_, pixels_, channel); });
  }

 private:
  T* begin(int64_t image, int64_t block) const { return data_ + (image * channels_ + block * kLanes) * pixels_; }
  int64_t channels_of(int64_t block) const { return std::min<int64_t>(kLanes, channels_ - block * kLanes); }

  const int64_t images_, channels_, pixels_;
  T* data_;
};

// (O, I, 3, 3) in rows of filters. Backward, filters and channels change places, and taps go from the last one to the first one.
template <Direction direction> class WeightsInBlocks {
 public:
  explicit WeightsInBlocks(const Tensor& weights) : channel_blocks_(weights.shape()[1] / kLanes), data_(weights.as<float>()) {}

  static constexpr int64_t kFloats = convolution_3x3::kWeightsBlock;

  // What is read of these blocks, where it lies in one piece; else null.
  const float* in_one_piece(int64_t filters, int64_t channels) const {
    const int64_t block = direction == Direction::forward ? filters * channel_blocks_ + channels : channels * channel_blocks_ + filters;
    return data_ + block * kFloats;
  }

  const float* read(int64_t filters, int64_t channels, float* taps) const {
    const float* weights = in_one_piece(filters, channels);
    if constexpr (direction == Direction::forward) return weights;
    for (int tap = convolution_3x3::kTaps - 1; tap >= 0; --tap, weights += kTapSize)
      exchange([&](int i) { return load(weights + i * kLanes); },
               [&](int i, Floats value) { store(taps + tap * kTapSize + i * kLanes, value); });
    return taps;
  }

 private:
  const int64_t channel_blocks_;
  const float* data_;
};

// (O, I, Taps, Taps), likewise.
template <int Taps, Direction direction> class WeightsInPlanes {
 public:
  explicit WeightsInPlanes(const Tensor& weights)
      : filters_(weights.shape()[0]), channels_(weights.shape()[1]), data_(weights.as<float>()) {
    if constexpr (direction == Direction::backward) std::swap(filters_, channels_);
  }

  static constexpr int kTaps = Taps * Taps;
  static constexpr int64_t kFloats = kTaps * kTapSize;

  const float* in_one_piece(int64_t, int64_t) const { return nullptr; }

  const float* read(int64_t filters, int64_t channels, float* taps) const {
    const int64_t rows = std::min<int64_t>(kLanes, filters_ - filters * kLanes);
    const float* from = data_ + filters * kLanes * filter() + channels * kLanes * channel();
    for (int64_t c = 0; c < std::min<int64_t>(kLanes, channels_ - channels * kLanes); ++c, from += channel()) {
      for (int tap = 0; tap < kTaps; tap += kLanes) {
        const int width = std::min(kLanes, kTaps - tap);
        exchange([&](int i) { return i < rows ? load(from + i * filter() + tap, width) : Floats{}; },
                 [&](int i, Floats value) {
                   if (i >= width) return;
                   const int at = direction == Direction::forward ? tap + i : kTaps - 1 - tap - i;
                   store(taps + at * kTapSize + c * kLanes, value);
                 });
      }
    }
    return taps;
  }

 private:
  // How far it is from one filter, or channel, to the next.
  int64_t filter() const { return direction == Direction::forward ? channels_ * kTaps : kTaps; }
  int64_t channel() const { return direction == Direction::forward ? kTaps : filters_ * kTaps; }

  int64_t filters_, channels_;
  const float* data_;
};

// Their gradients, likewise.
class GradientInBlocks {
 public:
  explicit GradientInBlocks(const Tensor& weights) : channel_blocks_(weights.shape()[1] / kLanes), data_(weights.as<float>()) {
    const int64_t blocks = weights.shape()[0] / kLanes * channel_blocks_;
    past_caches_ = convolution_3x3::stores_past_caches(data_, blocks, true);
  }

  // Floats that the taps of a block take while they are written.
  static constexpr int64_t kFloats = 0;

  // Calls body(taps, store_one), which writes the taps between these blocks.
  template <class Body> void write(int64_t filters, int64_t channels, float*, const Body& body) const {
    float* const taps = data_ + (filters * channel_blocks_ + channels) * convolution_3x3::kWeightsBlock;
    if (!past_caches_) return body(taps, [](float* to, Floats value) { store(to, value); });
    body(taps, convolution_3x3::store_past_caches);
    convolution_3x3::end_stores_past_caches();
  }

 private:
  const int64_t channel_blocks_;
  float* data_;
  bool past_caches_;
};

template <int Taps> class GradientInPlanes {
 public:
  explicit GradientInPlanes(const Tensor& weights)
      : filters_(weights.shape()[0]), channels_(weights.shape()[1]), data_(weights.as<float>()) {}

  static constexpr int kTaps = Taps * Taps;
  static constexpr int64_t kFloats = kTaps * kTapSize;

  template <class Body> void write(int64_t filters, int64_t channels, float* taps, const Body& body) const {
    body(taps, [](float* to, Floats value) { store(to, value); });
    const int64_t rows = std::min<int64_t>(kLanes, filters_ - filters * kLanes);
    for (int64_t c = 0; c < std::min<int64_t>(kLanes, channels_ - channels * kLanes); ++c) {
      float* const to = data_ + (filters * kLanes * channels_ + channels * kLanes + c) * kTaps;
      for (int tap = 0; tap < kTaps; tap += kLanes) {
        const int width = std::min(kLanes, kTaps - tap);
        exchange([&](int i) { return i < width ? load(taps + (tap + i) * kTapSize + c * kLanes) : Floats{}; },
                 [&](int i, Floats value) {
                   if (i < rows) store(to + i * channels_ * kTaps + tap, value, width);
                 });
      }
    }
  }

 private:
  const int64_t filters_, channels_;
  float* data_;
};

// Convolutions of 3x3 of blocks of channels, as in convolution_3x3.h.
template <class T> struct InBlocks {
  static constexpr int kTaps = 3;
  // Whether whole images are transformed together.
  static constexpr bool kWholeImages = false;
  using Activation = ActivationInBlocks<T>;
  template <Direction direction> using Weights = WeightsInBlocks<direction>;
  using Gradient = GradientInBlocks;
};

// Convolutions of 5x5 over planes, as in convolution_in_planes.h.
template <class T> struct InPlanes {
  static constexpr int kTaps = 5;
  static constexpr bool kWholeImages = true;
  using Activation = ActivationInPlanes<T>;
  template <Direction direction> using Weights = WeightsInPlanes<kTaps, direction>;
  using Gradient = GradientInPlanes<kTaps>;
};

}  // namespace arbalest::kernels::winograd
