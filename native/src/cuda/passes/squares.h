// The sums of the squares of many parts of vectors, in an order that depends only on their lengths. The parts are a table by value, so that
// two launches are enough for all of its rows.
#pragma once

#include <algorithm>

#include "cuda/parts.h"
#include "cuda/reduction.h"

namespace arbalest::cuda {

struct SquaredPart {
  const float* at = nullptr;  // (elements)
  int64_t elements = 0;
  int first = 0, blocks = 0;  // of the table's blocks

  // Each thread of a block takes at least 16 elements, and a part has no more partial sums than one block can add up.
  static int blocks_for(int64_t elements) { return static_cast<int>(std::clamp<int64_t>(elements / (kThreads * 16), 1, kThreads)); }
};

// A launch's arguments have at least 4 KiB.
inline constexpr int kMostParts = 128;

struct SquaredParts {
  SquaredPart parts[kMostParts];
  int count = 0, blocks = 0;

  void add(const float* at, int64_t elements) {
    const int wanted = SquaredPart::blocks_for(elements);
    parts[count++] = {at, elements, blocks, wanted};
    blocks += wanted;
  }
};

struct PartialSquares {
  using Sum = double;

  SquaredParts table;
  double* partials;  // (table.blocks)
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    const SquaredPart& part = part_at(table.parts, table.count, static_cast<int>(block));
    Sum found = 0;
    for (int64_t i = (block - part.first) * kThreads + thread; i < part.elements; i += int64_t{part.blocks} * kThreads)
      found += static_cast<double>(part.at[i]) * part.at[i];
    return found;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return a + b; }
  EVERYWHERE void finish(int64_t block, int, const Sum& sum) const { partials[block] = sum; }
};

// One block for each part.
struct SumOfPartials {
  using Sum = double;

  SquaredParts table;
  const double* partials;  // (table.blocks)
  double* sums;            // (table.count)
  int lanes = 1;

  EVERYWHERE Sum partial(int64_t block, int thread) const {
    const SquaredPart& part = table.parts[block];
    return thread < part.blocks ? partials[part.first + thread] : 0.0;
  }
  EVERYWHERE static Sum sum(const Sum& a, const Sum& b) { return a + b; }
  EVERYWHERE void finish(int64_t block, int, const Sum& sum) const { sums[block] = sum; }
};

}  // namespace arbalest::cuda
