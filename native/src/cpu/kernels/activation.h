// An activation in any of our layouts, seen as (images, blocks, pixels, lanes) in memory:
//   plain            blocks = channels, lanes = 1
//   nhwc             blocks = 1, lanes = channels
//   nChw8c, nChw16c  lanes = 8 or 16, blocks = channels / lanes rounded up; lanes beyond the last channel hold zeros, always
// Features (N, F) are images of one pixel.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "core/tensor.h"

namespace arbalest::kernels {

struct Activation {
  int64_t images = 0, channels = 0, height = 1, width = 1;
  int64_t blocks = 1, lanes = 1;

  int64_t pixels() const { return height * width; }
  int64_t plane() const { return pixels() * lanes; }
  // Elements before the first pixel of a block.
  int64_t offset(int64_t image, int64_t block) const { return (image * blocks + block) * plane(); }
  // Padding lanes included.
  int64_t elements() const { return images * blocks * plane(); }
  // Elements before (image 0, channel, pixel 0).
  int64_t channel_offset(int64_t channel) const { return channel / lanes * plane() + channel % lanes; }
};

inline bool known_layout(const std::string& layout) {
  return layout == kPlain || layout == "nhwc" || layout == "nChw8c" || layout == "nChw16c";
}

// `spec` has 2 or 4 axes and a layout known here.
inline Activation activation_of(const TensorSpec& spec) {
  Activation view;
  view.images = spec.shape[0];
  view.channels = spec.shape[1];
  if (spec.shape.size() == 4) {
    view.height = spec.shape[2];
    view.width = spec.shape[3];
  }
  if (spec.layout == "nChw8c" || spec.layout == "nChw16c") {
    view.lanes = spec.layout == "nChw8c" ? 8 : 16;
    view.blocks = (view.channels + view.lanes - 1) / view.lanes;
  } else if (spec.layout == "nhwc") {
    view.lanes = view.channels;
  } else {
    view.blocks = view.channels;
  }
  return view;
}

// Zeroes the lanes beyond the last channel, for operators that do not keep zeros zero.
template <class T> void clear_padding(const Activation& view, T* memory) {
  const int64_t used = view.channels - (view.blocks - 1) * view.lanes, padding = view.lanes - used;
  if (padding == 0) return;
  for (int64_t image = 0; image < view.images; ++image) {
    T* lanes = memory + view.offset(image, view.blocks - 1) + used;
    for (int64_t pixel = 0; pixel < view.pixels(); ++pixel, lanes += view.lanes) {
      std::memset(static_cast<void*>(lanes), 0, static_cast<size_t>(padding) * sizeof(T));
    }
  }
}

// Elements in memory, padding lanes included; any number of axes where the layout is plain.
inline int64_t elements_in_memory(const TensorSpec& spec) {
  return spec.layout == kPlain ? elements_of(spec.shape) : activation_of(spec).elements();
}

}  // namespace arbalest::kernels
