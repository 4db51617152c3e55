// An activation as strips: up to one register of lanes of every pixel of one block of one image. Pooling runs over strips, with one
// instantiation for whole registers, one for partial ones, and one for the single lane of plain.
#pragma once

#include <algorithm>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/simd.h"

namespace arbalest::kernels {

// All bits of the first `count` lanes are set in first(count).
struct WholeRegister {
  using Value = Floats;
  using Index = Ints;
  template <class T> static auto load(const T* from, int width) { return kernels::load<false>(from, width); }
  template <class T, class V> static void store(T* to, V value, int width) { kernels::store<false>(to, value, width); }
  static Index first(int count) { return lane_numbers() < count; }
};

struct PartialRegister {
  using Value = Floats;
  using Index = Ints;
  template <class T> static auto load(const T* from, int width) { return kernels::load<true>(from, width); }
  template <class T, class V> static void store(T* to, V value, int width) { kernels::store<true>(to, value, width); }
  static Index first(int count) { return lane_numbers() < count; }
};

struct SingleLane {
  using Value = float;
  using Index = int32_t;
  static float load(const float* from, int) { return *from; }
  static float load(const bf16* from, int) { return to_float(*from); }
  static int32_t load(const uint8_t* from, int) { return *from; }
  template <class T> static void store(T* to, float value, int) { *to = from_float<T>(value); }
  static void store(uint8_t* to, int32_t value, int) { *to = static_cast<uint8_t>(value); }
  static Index first(int count) { return count > 0 ? -1 : 0; }
};

struct Strip {
  int64_t image, block, lane;
  int width;
  int channels;  // lanes from its first on that are not padding; may be 0, or more than its width

  // Elements before the strip's first pixel in an activation with the same blocks and lanes.
  int64_t begin(const Activation& view) const { return view.offset(image, block) + lane; }
};

// body.operator()<Lanes>(strip) for every strip; `elements` is the size of the work. Where the lanes fill no whole number of registers the
// last two strips overlap: the same values are written twice, by one thread, which is cheaper than a partial register.
template <class Body> void for_each_strip(const Activation& view, int64_t elements, const Body& body) {
  for_each(view.images * view.blocks, elements, [&](int64_t plane) {
    const int64_t image = plane / view.blocks, block = plane % view.blocks;
    const auto channels = static_cast<int>(std::min(view.lanes, view.channels - block * view.lanes));
    if (view.lanes == 1) {
      body.template operator()<SingleLane>(Strip{image, block, 0, 1, 1});
    } else if (view.lanes < kLanes) {
      body.template operator()<PartialRegister>(Strip{image, block, 0, static_cast<int>(view.lanes), channels});
    } else {
      for (int64_t next = 0; next < view.lanes; next += kLanes) {
        const int64_t lane = std::min(next, view.lanes - kLanes);
        body.template operator()<WholeRegister>(Strip{image, block, lane, kLanes, channels - static_cast<int>(lane)});
      }
    }
  });
}

}  // namespace arbalest::kernels
