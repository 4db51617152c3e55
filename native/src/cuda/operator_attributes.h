// Attributes in the types of the kernels' parameters.
#pragma once

#include "cuda/tensors.h"
#include "device/backend.h"

namespace arbalest::cuda {

inline bool flag(const Attributes& attributes, const char* name) { return attributes.number(name, 0) != 0; }

inline int whole(const Attributes& attributes, const char* name) { return static_cast<int>(attributes.number(name)); }

inline Window window_of(const Attributes& attributes, int rows, int columns) {
  const auto &stride = attributes.list("stride"), &padding = attributes.list("padding");
  const auto dilation = attributes.list("dilation", {1, 1});
  return {{rows, columns},
          {static_cast<int>(stride.at(0)), static_cast<int>(stride.at(1))},
          {static_cast<int>(padding.at(0)), static_cast<int>(padding.at(1))},
          {static_cast<int>(dilation.at(0)), static_cast<int>(dilation.at(1))}};
}

inline Window window_of(const Attributes& attributes) {
  const auto& kernel = attributes.list("kernel");
  return window_of(attributes, static_cast<int>(kernel.at(0)), static_cast<int>(kernel.at(1)));
}

}  // namespace arbalest::cuda
