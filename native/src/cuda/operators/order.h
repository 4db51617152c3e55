// The places of a tensor's elements in another order.
#pragma once

#include "cuda/layouts.h"
#include "cuda/table.h"

namespace arbalest::cuda {

// Both are (N, C, H, W), in canonical order or channels last; other tensors have a single order.
struct Order {
  int channels = 1, pixels = 1;
  bool from_last = false, to_last = false;  // channels last

  Order() = default;
  Order(const TensorSpec& from, const TensorSpec& to) : from_last(channels_last(from)), to_last(channels_last(to)) {
    Shape shape = from.shape;
    shape.resize(4, 1);
    const Image image(shape);
    channels = image.c;
    pixels = image.h * image.w;
  }

  EVERYWHERE bool same() const { return from_last == to_last; }
  // The place in the source of element i of the target.
  EVERYWHERE int64_t at(int64_t i) const {
    if (same()) return i;
    const int64_t elements = static_cast<int64_t>(pixels) * channels, sample = i / elements;
    const int within = static_cast<int>(i % elements);
    const int c = to_last ? within % channels : within / pixels, s = to_last ? within / channels : within % pixels;
    return sample * elements + (from_last ? s * channels + c : c * pixels + s);
  }
};

// One tensor, and several at once.
MadeKernel make_reorder(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_reorder_together(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
