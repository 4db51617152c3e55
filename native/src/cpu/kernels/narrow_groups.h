// Convolutions whose groups have one, four or eight channels and as many filters (one: depthwise convolutions), where channels lie side by
// side and fill registers: a register of channels, of whole groups, is computed at once. Each lane meets the channels of its group one
// after the other, by a register in which that channel is spread over the group's lanes. Several outputs of a row stay in registers while
// the rows of x pass by, so that each pixel is loaded once for all taps of its row and arithmetic is the limit.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "cpu/kernels/activation.h"
#include "cpu/kernels/fetch_ahead.h"
#include "cpu/kernels/parallel.h"
#include "cpu/kernels/pieces.h"
#include "cpu/kernels/window.h"

namespace arbalest::kernels::narrow_groups {

enum class Pass { forward, data, weights };

// Whether there is a kernel for groups of `width` channels, filters of side x side and this stride: where oneDNN's is not faster.
constexpr bool is_ours(Pass pass, bool is_bf16, int64_t width, int64_t side, int64_t stride) {
  if (stride != 1 && stride != 2) return false;
  if (width > 1) return kLanes >= 8 && side == 3 && (width == 4 || (width == 8 && (!is_bf16 || pass == Pass::weights)));
  if (side != 3 && side != 5 && side != 7) return false;
  if (pass == Pass::forward) return stride == 1 || (side == 3 && !is_bf16);
  return !is_bf16 || stride == 1 || side != 3;
}

// The kernel of a pass with weights of shape w.
template <Pass pass, template <class, int, int, int> class Made> std::unique_ptr<Kernel> make(const OperatorSpec& spec, const Shape& w) {
  std::unique_ptr<Kernel> made;
  const auto stride = static_cast<int64_t>(spec.attributes.list("stride")[0]);
  const auto choose = [&]<class T, int Width, int Side, int Stride>() {
    if constexpr (is_ours(pass, std::is_same_v<T, bf16>, Width, Side, Stride)) {
      if (w[1] == Width && w[2] == Side && stride == Stride) made = std::make_unique<Made<T, Width, Side, Stride>>(spec);
    }
  };
  for_type(spec.precision, [&]<class T>() {
    const auto for_strides = [&]<int Width, int Side>() {
      choose.template operator()<T, Width, Side, 1>();
      choose.template operator()<T, Width, Side, 2>();
    };
    for_strides.template operator()<1, 3>();
    for_strides.template operator()<1, 5>();
    for_strides.template operator()<1, 7>();
    for_strides.template operator()<4, 3>();
    for_strides.template operator()<8, 3>();
  });
  return made;
}

// Gives each lane the value of one channel of its group.
template <int Width> class Spread {
 public:
  explicit Spread(int channel = 0) : from_((lane_numbers() & ~(Width - 1)) + channel) {}
  Floats operator()(Floats x) const {
    if constexpr (Width == 1) return x;
    return __builtin_shuffle(x, from_);
  }

 private:
  Ints from_;
};

// One register of channels: its first lane and the first one's channel. `channels` are those that are not padding. The last register of
// nhwc may have fewer lanes in memory than others.
struct Lanes {
  int64_t block, lane, channel;
  int channels;
  bool whole;
};

inline std::vector<Lanes> lanes_of(const Activation& view) {
  std::vector<Lanes> all;
  for (int64_t block = 0; block < view.blocks; ++block) {
    for (int64_t lane = 0; lane < view.lanes; lane += kLanes) {
      const int64_t channel = block * view.lanes + lane;
      all.push_back(
          {block, lane, channel, static_cast<int>(std::clamp<int64_t>(view.channels - channel, 0, kLanes)), lane + kLanes <= view.lanes});
    }
  }
  return all;
}

// Elements before the first pixel of an image in these lanes.
inline int64_t begin_of(const Activation& view, int64_t image, const Lanes& lanes) { return view.offset(image, lanes.block) + lanes.lane; }

// A row of an image in one register of channels, which has all its lanes in memory or the first `lanes`: pixels lie `step` elements apart.
// Without data it lies outside of the image.
template <class T, bool Whole> struct Row {
  T* data;
  int64_t step, width;
  int lanes;

  // `image` is the first pixel of an image of this view.
  static Row of(const Activation& view, T* image, int64_t row, int lanes) {
    return {row >= 0 && row < view.height ? image + row * view.width * view.lanes : nullptr, view.lanes, view.width, lanes};
  }
  bool inside() const { return data != nullptr; }
  bool has(int64_t column) const { return column >= 0 && column < width; }
  Floats at(int64_t column) const { return in_register(load<!Whole>(data + column * step, lanes)); }
  void set(int64_t column, Floats value) const { store<!Whole>(data + column * step, value, lanes); }
  // Fetches `Count` pixels from `first` on, line by line where pixels lie side by side.
  template <int Count> void fetch_ahead(int64_t first) const {
    if (!kOutrunsMemory) return;
    constexpr int64_t kPixelBytes = kLanes * sizeof(T), kOfLine = std::max<int64_t>(1, kLineBytes / kPixelBytes);
#pragma GCC unroll 16
    for (int64_t i = 0; i < Count; i += kOfLine)
      __builtin_prefetch(data + (first + i + kBytesAhead / kPixelBytes) * step, !std::is_const_v<T>);
  }
};

struct Geometry {
  Axis rows, columns;

  Geometry(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y)
      : rows(axis(attributes, 0, x, w, y)), columns(axis(attributes, 1, x, w, y)) {}

  int64_t side() const { return rows.kernel; }
  int64_t stride() const { return rows.stride; }

 private:
  static Axis axis(const Attributes& attributes, size_t i, const Shape& x, const Shape& w, const Shape& y) {
    const auto number = [&](const char* name) { return static_cast<int64_t>(attributes.list(name)[i]); };
    return {w[2 + i], number("stride"), number("padding"), x[2 + i], y[2 + i]};
  }
};

// Whether these kernels run a pass of a convolution of x (N, C, H, W) by w (C, K, S, S), in groups of K channels, in this layout: there is
// one for the group, the side and the strides, padding is below the side, and there are as many lanes as in a register.
bool takes(Pass pass, const LoweringRequest& request, const Shape& x, const Shape& w, const std::string& layout);

// The shape of y, for attributes, an x and a w that are taken.
Shape result_of(const Attributes& attributes, const Shape& x, const Shape& w);

}  // namespace arbalest::kernels::narrow_groups
