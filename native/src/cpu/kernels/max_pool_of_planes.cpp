// The maximum over windows of 2x2 that lie side by side in planes, by the rule of max_pool.cpp. The lanes of a register are neighbouring
// outputs of a plane: in pieces of rows where these fill registers, else of one row.
#include <algorithm>
#include <vector>

#include "cpu/kernels/elementwise.h"
#include "cpu/kernels/max_pool.h"
#include "cpu/kernels/planes.h"

namespace arbalest::kernels {
namespace {

using planes::kPiece;
using planes::kPieces;

// The even or the odd lanes of two registers.
template <int Odd> Floats every_second(Floats first, Floats second) {
  Ints lanes;
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = 2 * lane + Odd;
  return __builtin_shuffle(first, second, lanes);
}

// The inverse: the first or the second of the registers whose even and odd lanes these are.
template <int Half> Floats interleaved(Floats even, Floats odd) {
  Ints lanes;
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = (Half * kLanes + lane) / 2 + (lane % 2 == 1 ? kLanes : 0);
  return __builtin_shuffle(even, odd, lanes);
}

// Two rows of x under a register of outputs, in two registers each.
struct Under {
  Floats upper[2], lower[2];
};

class Planes {
 public:
  Planes(const Shape& x, const Shape& y) : count(x[0] * x[1]), height(x[2]), width(x[3]), out_height(y[2]), out_width(y[3]) {
    if (kLanes < kPiece || out_width % kOutputsOfPiece != 0 || outputs() % kLanes != 0) return;
    places_.resize(static_cast<size_t>(outputs() / kLanes));
    for (int64_t piece = 0; piece < outputs() / kOutputsOfPiece; ++piece) {
      const int64_t output = piece * kOutputsOfPiece, at = 2 * (output / out_width * width + output % out_width);
      places_[static_cast<size_t>(output / kLanes)].half[piece / kPieces % 2].at[piece % kPieces] = at;
    }
  }

  int64_t elements() const { return count * height * width; }
  int64_t outputs() const { return out_height * out_width; }

  // body(x, y) over the planes of both.
  template <class X, class Y, class Body> void for_each_plane(X* x, Y* y, const Body& body) const {
    for_each(count, elements(), [&](int64_t plane) { body(x + plane * height * width, y + plane * outputs()); });
  }

  // body.operator()<Partial>(at, count, under) for each register of outputs of a plane of x.
  template <class T, class Body> void read(const T* x, const Body& body) const {
    if (places_.empty()) {
      for_each_of_rows(x, [&]<bool Partial>(int64_t at, const T* from, int lanes) {
        const auto row = [&](const T* pairs, Floats(&to)[2]) {
          to[0] = load<Partial>(pairs, first_of_pairs(lanes));
          to[1] = load<Partial>(pairs + kLanes, second_of_pairs(lanes));
        };
        Under under;
        row(from, under.upper);
        row(from + width, under.lower);
        body.template operator()<Partial>(at, lanes, under);
      });
      return;
    }
    for (size_t r = 0; r < places_.size(); ++r) {
      const auto& half = places_[r].half;
      const Under under{{planes::load_wide_pieces(x, half[0]), planes::load_wide_pieces(x, half[1])},
                        {planes::load_wide_pieces(x + width, half[0]), planes::load_wide_pieces(x + width, half[1])}};
      body.template operator()<false>(static_cast<int64_t>(r) * kLanes, kLanes, under);
    }
  }

  // Writes body.operator()<Partial>(at, count) for each register of outputs to a plane of gx; zeros to what no window covers.
  template <class T, class Body> void write(T* gx, const Body& body) const {
    if (places_.empty()) {
      for_each_of_rows(gx, [&]<bool Partial>(int64_t at, T* to, int lanes) {
        const Under under = body.template operator()<Partial>(at, lanes);
        for (int i = 0; i < 2; ++i) {
          const int some = i == 0 ? first_of_pairs(lanes) : second_of_pairs(lanes);
          store<Partial>(to + i * kLanes, under.upper[i], some);
          store<Partial>(to + width + i * kLanes, under.lower[i], some);
        }
      });
    }
    for (size_t r = 0; r < places_.size(); ++r) {
      const Under under = body.template operator()<false>(static_cast<int64_t>(r) * kLanes, kLanes);
      for (int i = 0; i < 2; ++i) {
        planes::store_pieces(gx, places_[r].half[i], under.upper[i]);
        planes::store_pieces(gx + width, places_[r].half[i], under.lower[i]);
      }
    }
    if (width % 2 == 1) {
      for (int64_t row = 0; row < height; ++row) gx[row * width + width - 1] = from_float<T>(0);
    }
    if (height % 2 == 1) std::fill_n(gx + (height - 1) * width, width, from_float<T>(0));
  }

 private:
  // Those whose windows are in a piece of a row of x.
  static constexpr int64_t kOutputsOfPiece = kPiece / 2;

  // The registers of a row of x that are under a register of outputs.
  struct Row {
    planes::Places<kPieces> half[2];
  };

  // Elements of the first and of the second register of pairs, for the first `count` lanes of a register of outputs.
  static int first_of_pairs(int count) { return std::min(kLanes, 2 * count); }
  static int second_of_pairs(int count) { return std::max(0, 2 * count - kLanes); }

  template <class T, class Body> void for_each_of_rows(T* x, const Body& body) const {
    for (int64_t oh = 0; oh < out_height; ++oh) {
      for_each_register(0, out_width, [&]<bool Partial>(int64_t ow, int lanes) {
        body.template operator()<Partial>(oh * out_width + ow, x + 2 * (oh * width + ow), lanes);
      });
    }
  }

  const int64_t count, height, width, out_height, out_width;
  std::vector<Row> places_;  // in a plane of x, by registers of outputs; none where rows are not made of whole pieces
};

template <class T> class MaxPoolOfPlanes final : public Kernel {
 public:
  explicit MaxPoolOfPlanes(const OperatorSpec& spec)
      : planes_(spec.inputs[0].shape(), spec.outputs[0].shape()),
        x_(input<T>(spec, 0)),
        y_(output<T>(spec, 0)),
        position_(output<uint8_t>(spec, 1)) {}

  void run(const StepContext&) override { position_ ? pool<true>() : pool<false>(); }

 private:
  template <bool Positioned> void pool() const {
    planes_.for_each_plane(x_, y_, [&](const T* x, T* y) {
      planes_.read(x, [&]<bool Partial>(int64_t at, int lanes, const Under& under) {
        const Floats window[4] = {every_second<0>(under.upper[0], under.upper[1]), every_second<1>(under.upper[0], under.upper[1]),
                                  every_second<0>(under.lower[0], under.lower[1]), every_second<1>(under.lower[0], under.lower[1])};
        const Floats sum = (window[0] + window[1]) + (window[2] + window[3]);
        const auto [most, where] = any(sum != sum) ? highest<true>(window) : highest<false>(window);
        store<Partial>(y + at, most, lanes);
        if constexpr (Positioned) store<Partial>(position_ + (y - y_) + at, where, lanes);
      });
    });
  }

  struct Highest {
    Floats most;
    Ints where;
  };

  template <bool NotNumbers> static Highest highest(const Floats (&window)[4]) {
    Highest found{window[0], {}};
    for (int i = 1; i < 4; ++i) {
      Ints greater = window[i] > found.most;
      if constexpr (NotNumbers) greater |= (window[i] != window[i]) & (found.most == found.most);
      found = {greater ? window[i] : found.most, greater ? all(i) : found.where};
    }
    return found;
  }

  const Planes planes_;
  const T* x_;
  T* y_;
  uint8_t* position_;  // null if the output is absent
};

template <class T> class MaxPoolOfPlanesBackward final : public Kernel {
 public:
  explicit MaxPoolOfPlanesBackward(const OperatorSpec& spec)
      : planes_(spec.outputs[0].shape(), spec.inputs[0].shape()),
        position_(input<uint8_t>(spec, 0)),
        gy_(input<T>(spec, 1)),
        gx_(output<T>(spec, 0)) {}

  void run(const StepContext&) override {
    planes_.for_each_plane(gx_, gy_, [&](T* gx, const T* gy) {
      const uint8_t* const position = position_ + (gy - gy_);
      planes_.write(gx, [&]<bool Partial>(int64_t at, int lanes) {
        const Ints where = load<Partial>(position + at, lanes);
        const Floats g = load<Partial>(gy + at, lanes);
        const auto at_tap = [&](int tap) { return where == tap ? g : Floats{}; };
        return Under{{interleaved<0>(at_tap(0), at_tap(1)), interleaved<1>(at_tap(0), at_tap(1))},
                     {interleaved<0>(at_tap(2), at_tap(3)), interleaved<1>(at_tap(2), at_tap(3))}};
      });
    });
  }

 private:
  const Planes planes_;
  const uint8_t* position_;
  const T* gy_;
  T* gx_;
};

bool are_side_by_side(const OperatorSpec& spec) {
  const auto is = [&](const char* name, double number) { return spec.attributes.list(name) == std::vector<double>{number, number}; };
  return spec.inputs[0].spec.layout == kPlain && is("kernel", 2) && is("stride", 2) && is("padding", 0);
}

}  // namespace

std::unique_ptr<Kernel> max_pool_of_planes(const OperatorSpec& spec) {
  return are_side_by_side(spec) ? make_typed<MaxPoolOfPlanes>(spec) : nullptr;
}

std::unique_ptr<Kernel> max_pool_of_planes_backward(const OperatorSpec& spec) {
  return are_side_by_side(spec) ? make_typed<MaxPoolOfPlanesBackward>(spec) : nullptr;
}

}  // namespace arbalest::kernels
