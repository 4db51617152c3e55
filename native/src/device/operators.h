// The operators of a backend: how it would run each of them (lower), and kernels that run them over placed buffers (make).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/attributes.h"
#include "core/tensor.h"
#include "data/dataset.h"

namespace arbalest {

struct LoweringRequest {
  std::string kind;
  Attributes attributes;
  std::vector<TensorSpec> inputs, outputs;  // an absent tensor has an empty shape
  Type precision = Type::f32;
  int threads = 1;  // that will run the kernel; only its scratch memory may depend on them
};

struct LoweringAnswer {
  std::vector<TensorSpec> inputs, outputs;  // as the kernel reads and writes them, with their layouts
  size_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> in_place;  // (output, input): the output may overwrite the input
  std::string implementation;
  // Of how many tiles of its first output the kernel can give the partial sums that a batch norm needs; 0: of none.
  int64_t partial_sums = 0;
};

// One operator over placed buffers. Its shapes and element types are those of the answer of `lower`.
struct OperatorSpec {
  std::string kind, name;
  Attributes attributes;
  std::vector<Tensor> inputs, outputs;
  void* scratch = nullptr;
  size_t scratch_bytes = 0;
  Type precision = Type::f32;
  // From which `load` gathers samples; where batches stream, one that is like them, without samples.
  const Dataset* dataset = nullptr;
};

// What changes from step to step.
struct StepContext {
  const Dataset* dataset = nullptr;
  uint64_t seed = 0;
  // The place of the batch in the endless sequence of epochs: sample i of the batch has the position `position + i`. Order, crops, flips
  // and dropout masks are functions of seed and position, so that a learner or a resumed run needs nothing but this number.
  uint64_t position = 0;
  // The samples (batch) that the learner has chosen; empty for those at the position.
  std::span<const int64_t> samples;
};

// An operator that is ready to run: its primitives are built and its addresses are fixed. run() allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const StepContext& step) = 0;
};

// Called by many threads at once; each kernel by one thread at a time.
class Operators {
 public:
  virtual ~Operators() = default;

  // Throws UNSUPPORTED_OPERATOR, UNSUPPORTED_PRECISION, INVALID_PROGRAM.
  virtual LoweringAnswer lower(const LoweringRequest& request) = 0;
  // Bytes of a tensor in its layout.
  virtual size_t bytes(const TensorSpec& spec) = 0;
  virtual std::unique_ptr<Kernel> make(const OperatorSpec& spec) = 0;
  // Copies a tensor into another layout or element type. Padding lanes of `to` become zero. Too slow for use inside a step.
  virtual void reorder(const Tensor& from, const Tensor& to) = 0;
};

}  // namespace arbalest
