// A product of two batches of matrices as a part of an operator of ours: the library's `matmul`, made for the stream in use.
#pragma once

#include "cuda/device_backend.h"

namespace arbalest::cuda {

struct Matrices {
  void* data;
  Type type;
  int64_t rows, columns;  // as they lie
};

// to = a b for each of `count` products, with a and b transposed or not. A wide `to` gets the unrounded sums of narrow factors.
inline MadeKernel batched_product(int64_t count, Matrices a, bool transpose_a, Matrices b, bool transpose_b, Matrices to,
                                  DeviceStream& stream) {
  const auto tensor = [&](const Matrices& of) { return Tensor{{of.type, {count, of.rows, of.columns}, std::string(kPlain)}, of.data}; };
  OperatorSpec spec{"matmul", "matmul", {}, {tensor(a), tensor(b)}, {tensor(to)}};
  spec.precision = a.type;
  spec.attributes.set("transposeA", {transpose_a ? 1.0 : 0.0});
  spec.attributes.set("transposeB", {transpose_b ? 1.0 : 0.0});
  return stream.backend().make(spec);
}

}  // namespace arbalest::cuda
