// The tensors of a convolution in blocks of as many channels as a register has lanes.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"
#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// The layouts: of activations; and of weights (O, I, KH, KW), rows of filters in blocks of channels.
inline constexpr const char* kActivations = kLanes == 16 ? "nChw16c" : "nChw8c";
inline constexpr const char* kRowsOfFilters = kLanes == 16 ? "ABcd16b16a" : "ABcd8b8a";

// The weights between one block of channels and one of filters, of one tap.
inline constexpr int64_t kTapSize = kLanes * kLanes;

// An activation in blocks of channels, of which the last one may have lanes without a channel.
struct Blocked {
  int64_t images, channels, blocks, height, width;

  explicit Blocked(const Shape& shape)
      : images(shape[0]), channels(shape[1]), blocks((shape[1] + kLanes - 1) / kLanes), height(shape[2]), width(shape[3]) {}

  int64_t row() const { return width * kLanes; }
  int64_t plane() const { return height * row(); }
  int64_t image() const { return blocks * plane(); }
};

// How far it is in an activation from one image, row, pixel and block of channels to the next.
struct Steps {
  int64_t image, row, pixel, block;

  Steps(const Blocked& shape, const std::string& layout) : image(shape.image()) {
    const bool blocked = layout == kActivations;
    row = blocked ? shape.row() : shape.blocks * shape.row();
    pixel = blocked ? kLanes : shape.blocks * kLanes;
    block = blocked ? shape.plane() : kLanes;
  }
};

// The gradient gb (O) of the biases, of float or bf16.
template <class T> void sum_biases(const Blocked& y, const Steps& steps, const T* gy, float* gb);

}  // namespace arbalest::kernels
