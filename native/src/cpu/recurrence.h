// What the reference and the fast kernels of recurrent layers have in common: the extents, the order of the positions, and the checks of
// the shapes. x is (N, T, rows) with a row for each feature of each gate, w (rows, F), y (N, T, F); four numbers are kept for each feature.
#pragma once

#include "core/attributes.h"
#include "cpu/sequence_length.h"
#include "cpu/shape_checks.h"

namespace arbalest {

inline constexpr int64_t kKeptGates = 4;

struct Recurrence {
  Recurrence(const Shape& y, const Attributes& attributes)
      : samples(y[0]), length(y[1]), features(y[2]), reverse(attributes.number("reverse", 0) != 0) {}

  int64_t samples, length, features;
  bool reverse;

  // Where step s of a sample lies among its positions.
  int64_t position(int64_t s) const { return reverse ? length - 1 - s : s; }
};

// The shapes of a recurrent operator: its outputs are y, the kept gates, and others of y's shape.
template <class Use> void check_recurrent(const Use& use, int64_t gates, size_t outputs) {
  use.input_rank(0, 3);
  use.whole("reverse", 0, 1);
  const Shape& x = use.input(0);
  if (x[2] % gates != 0) use.refuse("shape of input x", shown(x), "make its last extent " + std::to_string(gates) + " times the features");
  const int64_t features = x[2] / gates;
  use.input_is(1, {x[2], features});
  use.input_is(2, {x[2]});
  if (use.inputs() > 3) use.input_is(3, {x[0]});
  use.output_is(0, {x[0], x[1], features});
  use.output_is(1, {x[0], x[1], kKeptGates * features});
  for (size_t i = 2; i < outputs; ++i) use.output_is(i, {x[0], x[1], features});
}

// The shapes of its gradient: the inputs are the kept gates, a state, w, gy and the lengths.
template <class Use> void check_recurrent_gradient(const Use& use, int64_t gates, size_t outputs) {
  use.input_rank(3, 3);
  use.whole("reverse", 0, 1);
  const Shape& gy = use.input(3);
  const int64_t features = gy[2];
  use.input_is(0, {gy[0], gy[1], kKeptGates * features});
  use.input_is(1, gy);
  use.input_is(2, {gates * features, features});
  if (use.inputs() > 4) use.input_is(4, {gy[0]});
  for (size_t i = 0; i < outputs; ++i) use.output_is(i, {gy[0], gy[1], gates * features});
}

}  // namespace arbalest
