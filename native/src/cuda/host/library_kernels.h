// The operators of cuDNN and cuBLASLt as plain loops over the same layouts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/table.h"

namespace arbalest::cuda {

// Neighbours whose sums a thread makes side by side: one sum alone waits for each of its additions. Each is summed in the same order.
inline constexpr int kPiece = 16;

inline int64_t pieces_of(int64_t neighbours) { return (neighbours + kPiece - 1) / kPiece; }

// Each group of neighbours is divided into pieces. `first` counts neighbours through all groups.
struct Piece {
  int64_t first;
  int count;

  Piece(int64_t piece, int64_t of_group) {
    const int64_t pieces = pieces_of(of_group), within = piece % pieces * kPiece;
    first = piece / pieces * of_group + within;
    count = static_cast<int>(std::min<int64_t>(kPiece, of_group - within));
  }

  // Adds to each its own. A loop of a known length is made of vectors.
  template <class Added> void add(float (&sums)[kPiece], const Added& added) const {
    if (count == kPiece)
      for (int i = 0; i < kPiece; ++i) sums[i] += added(i);
    else
      for (int i = 0; i < count; ++i) sums[i] += added(i);
  }
};

// Null for an operator of another kind.
MadeKernel make_convolution(const OperatorSpec& spec, DeviceStream& stream);
MadeKernel make_matrix_product(const OperatorSpec& spec, DeviceStream& stream);

}  // namespace arbalest::cuda
