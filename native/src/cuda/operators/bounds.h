// What batch norm's y lies in: everything, or [0, most] with relu; and which gradients pass it.
#pragma once

#include <limits>

#include "cuda/operator_attributes.h"

namespace arbalest::cuda {

struct Bounds {
  bool relu = false;
  float most = std::numeric_limits<float>::infinity();

  Bounds() = default;
  explicit Bounds(const Attributes& attributes)
      : relu(flag(attributes, "relu")), most(static_cast<float>(attributes.number("most", std::numeric_limits<double>::infinity()))) {}

  EVERYWHERE float within(float value) const { return !relu ? value : value < 0 ? 0.0f : value > most ? most : value; }
  EVERYWHERE bool passes(float y) const { return y > 0 && y < most; }
};

}  // namespace arbalest::cuda
