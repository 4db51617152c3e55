// A tensor in canonical order as rows of its last axis.
#pragma once

#include "core/tensor.h"
#include "cpu/kernels/parallel.h"

namespace arbalest::kernels {

struct Rows {
  explicit Rows(const Shape& shape) : width(shape.back()), count(elements_of(shape) / width) {}
  int64_t elements() const { return count * width; }
  int64_t width, count;
};

// body(row), some rows at a time to a thread.
template <class Body> void for_each_row(const Rows& rows, const Body& body) {
  constexpr int64_t kRun = 16;
  for_each((rows.count + kRun - 1) / kRun, rows.elements(), [&](int64_t run) {
    const int64_t last = (run + 1) * kRun < rows.count ? (run + 1) * kRun : rows.count;
    for (int64_t row = run * kRun; row < last; ++row) body(row);
  });
}

}  // namespace arbalest::kernels
