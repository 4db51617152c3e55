// Parts of a launch, side by side, each from its `first` on: a table among the launch's arguments.
#pragma once

#include "core/everywhere.h"

namespace arbalest::cuda {

// The last of `count` that begins at or before `at`; the first of all begins at 0.
template <class Part> EVERYWHERE const Part& part_at(const Part* parts, int count, int at) {
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (parts[middle].first <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return parts[low];
}

}  // namespace arbalest::cuda
