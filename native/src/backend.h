// The one interface between the engine and what computes: the CPU backends today, CUDA next. A backend says how it would run an
// operator (lower), makes it ready over placed buffers (make), and runs the two passes over whole parameter vectors (optimise, average).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "dataset.h"
#include "error.h"
#include "tensor.h"

namespace arbalest {

struct LoweringRequest {
  std::string kind;
  Attributes attributes;
  std::vector<TensorSpec> inputs, outputs;  // an absent one has an empty shape
  Type precision = Type::f32;
};

struct LoweringAnswer {
  std::vector<TensorSpec> inputs, outputs;  // as the backend takes and gives them, layouts named
  size_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> in_place;  // (output, input)
  std::string implementation;
};

// One operator over placed buffers, shapes and element types already checked against `lower`'s answer.
struct OperatorSpec {
  std::string kind, name;
  Attributes attributes;
  std::vector<Tensor> inputs, outputs;
  void* scratch = nullptr;
  size_t scratch_bytes = 0;
  Type precision = Type::f32;
};

// What changes from step to step.
struct StepContext {
  const Dataset* dataset = nullptr;
  uint64_t seed = 0;
  // Where this batch begins in the endless sequence of epochs: sample i of the batch stands at position + i. Order, crops, flips and
  // dropout masks are functions of (seed, position), so that no learner and no resumed run needs more than this one number.
  uint64_t position = 0;
  // Samples (batch) that the learner chose itself; empty: those that stand at the position.
  std::span<const int64_t> samples;
};

// An operator made ready: primitives built once, pointers fixed. Never allocates in run().
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const StepContext& step) = 0;
};

// One pass over (n,) weights: g' = g + decay*w; v = momentum*v + g'; d = nesterov ? g' + momentum*v : v; w = w - rate*d - c, and where
// `central` is given c = alpha*(w - central), from the weights before this step, is also written to `correction`.
struct OptimiserPass {
  Type type = Type::f32;
  size_t n = 0;
  void* weights = nullptr;
  const void* gradients = nullptr;
  void* velocity = nullptr;       // may be null where momentum is 0
  const void* central = nullptr;  // null: no correction in this step
  void* correction = nullptr;
  double rate = 0, momentum = 0, decay = 0, alpha = 0;
  bool nesterov = false;
};

// Elements [begin, end) of one SMA round: before[i] = z[i] + sum_j c_j[i] + mu*(z[i] - before[i]), summed in the order of `corrections`.
// `before` holds the central model of the round before on entry, that of the next round on return.
struct AveragePass {
  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* central = nullptr;
  void* before = nullptr;
  std::span<const void* const> corrections;
  double mu = 0;
};

// All of it may be called by many threads at once; a kernel by one at a time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual LoweringAnswer lower(const LoweringRequest& request) = 0;
  virtual size_t bytes(const TensorSpec& spec) = 0;
  virtual std::unique_ptr<Kernel> make(const OperatorSpec& spec) = 0;
  // The same tensor in another layout or element type; padding lanes of `to` become zero. Not for the hot path.
  virtual void reorder(const Tensor& from, const Tensor& to) = 0;

  virtual void optimise(const OptimiserPass& pass) = 0;
  virtual void average(const AveragePass& pass) = 0;

  // Zeroed memory, aligned to 64 bytes at least, touched lazily. Throws OUT_OF_MEMORY.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) noexcept = 0;

  // Sustained floating-point operations a second of one thread's fused multiply-adds; takes about 100 ms.
  virtual double measure_peak() = 0;

  // The calling thread will run kernels with so many threads from here on.
  virtual void use_threads(int threads) = 0;
};

}  // namespace arbalest

// What a backend library exports: `name` is "cpu" or "reference" in the CPU library. The backend lives as long as the process.
extern "C" {
using ArbalestBackendEntry = arbalest::Backend* (*)(const char* name);
using ArbalestBackendAbout = const char* (*)();  // one line of JSON: library versions and processor features, for `arbalest doctor`
}
