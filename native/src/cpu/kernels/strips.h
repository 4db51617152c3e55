// An activation as strips: up to one register of lanes of every pixel of one block of one image. What pooling runs over, with one
// instantiation for whole registers, one for partial ones, and one for the single lane of plain.
#pragma once

#include "activation.h"
#include "parallel.h"
#include "vector.h"

namespace arbalest::kernels {

// All bits of the first `count` lanes are set in first(count).
struct WholeRegister {
  using Value = Floats;
  using Index = Ints;
  template <class T>
  static auto load(const T* from, int width) { return kernels::load<false>(from, width); }
  template <class T, class V>
  static void store(T* to, V value, int width) { kernels::store<false>(to, value, width); }
  static Index first(int count) { return lane_numbers() < count; }
};

struct PartialRegister {
  using Value = Floats;
  using Index = Ints;
  template <class T>
  static auto load(const T* from, int width) { return kernels::load<true>(from, width); }
  template <class T, class V>
  static void store(T* to, V value, int width) { kernels::store<true>(to, value, width); }
  static Index first(int count) { return lane_numbers() < count; }
};

struct SingleLane {
  using Value = float;
  using Index = int32_t;
  static float load(const float* from, int) { return *from; }
  static float load(const bf16* from, int) { return to_float(*from); }
  static int32_t load(const uint8_t* from, int) { return *from; }
  template <class T>
  static void store(T* to, float value, int) { *to = from_float<T>(value); }
  static void store(uint8_t* to, int32_t value, int) { *to = static_cast<uint8_t>(value); }
  static Index first(int count) { return count > 0 ? -1 : 0; }
};

struct Strip {
  int64_t image, block, lane;
  int width;
  int channels;  // the lanes of it that are no padding

  // Elements before the strip's first pixel in an activation with the same blocks and lanes.
  int64_t begin(const Activation& view) const { return view.offset(image, block) + lane; }
};

// body.operator()<Lanes>(strip) for every strip; `elements` is the size of the work.
template <class Body>
void for_each_strip(const Activation& view, int64_t elements, const Body& body) {
  const int64_t strips = (view.lanes + kLanes - 1) / kLanes;
  for_each(view.images * view.blocks * strips, elements, [&](int64_t item) {
    const int64_t lane = item % strips * kLanes, plane = item / strips, left = view.lanes - lane;
    const int64_t block = plane % view.blocks, channels = view.channels - block * view.lanes - lane;
    const int width = static_cast<int>(left < kLanes ? left : kLanes);
    const Strip strip{plane / view.blocks, block, lane, width, static_cast<int>(channels < width ? channels : width)};
    if (strip.width == kLanes) body.template operator()<WholeRegister>(strip);
    else if (view.lanes == 1) body.template operator()<SingleLane>(strip);
    else body.template operator()<PartialRegister>(strip);
  });
}

}  // namespace arbalest::kernels
