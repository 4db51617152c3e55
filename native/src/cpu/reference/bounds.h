// What y of a norm lies in: everything, or [0, most] with relu; and which gradients pass it.
#pragma once

#include <limits>

#include "core/attributes.h"

namespace arbalest::reference {

struct Bounds {
  bool relu;
  double most;

  explicit Bounds(const Attributes& attributes)
      : relu(attributes.number("relu", 0) != 0), most(attributes.number("most", std::numeric_limits<double>::infinity())) {}

  double within(double value) const { return !relu ? value : value < 0 ? 0.0 : value > most ? most : value; }
  bool passes(double y) const { return y > 0 && y < most; }
};

}  // namespace arbalest::reference
