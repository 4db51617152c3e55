// Passes over vectors laid out like the parameters. Every optimiser, rule and average is made of these four: optimise, average, blend and
// squares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/tensor.h"

namespace arbalest {

// Elements [begin, end) of one step of an optimiser, from gradients G and weights w:
//   g = clamp(scale*G, -limit, limit) + decay*w
//   sgd:  v = momentum*v + g (g alone where `first` is null);  s = rate*(nesterov ? g + momentum*v : v)
//   adam: m = beta1*m + (1 - beta1)*g;  q = beta2*q + (1 - beta2)*g*g
//         s = rate*(m / bias1) / (sqrt(q / bias2) + epsilon) + rate*decoupled*w
//   rmsprop: q = beta2*q + (1 - beta2)*g*g;  as sgd, of g / (sqrt(q) + epsilon)
//   next = w - s, minus the correction where there is one
struct OptimiserPass {
  enum class Algorithm : uint8_t { sgd, adam, rmsprop };
  // The learner's contribution to its group, which the pass writes to `contribution`.
  enum class ContributionKind : uint8_t {
    none,
    correction,    // c = alpha*(w + ahead*v - central), with the v before the step; `next` is reduced by c too
    copy,          // `next`
    accumulation,  // what the contribution held before, plus s
  };

  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* weights = nullptr;
  void* next = nullptr;  // may be the weights
  const void* gradients = nullptr;
  void* first = nullptr;   // v, or m
  void* second = nullptr;  // q
  Algorithm algorithm = Algorithm::sgd;
  double rate = 0, scale = 1, limit = std::numeric_limits<double>::infinity(), decay = 0, decoupled = 0;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0, beta2 = 0, epsilon = 0, bias1 = 1, bias2 = 1;

  ContributionKind contribution_kind = ContributionKind::none;
  const void* central = nullptr;
  void* contribution = nullptr;
  double alpha = 0, ahead = 0;
};

// Bytes that the pass reads and writes.
constexpr size_t bytes_moved(const OptimiserPass& pass) {
  // Weights and gradients are read, `next` is written, and each state is read and written.
  size_t vectors = 3 + (pass.first ? 2 : 0) + (pass.second ? 2 : 0);
  switch (pass.contribution_kind) {
    case OptimiserPass::ContributionKind::none: break;
    case OptimiserPass::ContributionKind::copy: vectors += 1; break;
    case OptimiserPass::ContributionKind::correction:
    case OptimiserPass::ContributionKind::accumulation: vectors += 2; break;
  }
  return vectors * (pass.end - pass.begin) * size_of(pass.type);
}

// Elements [begin, end): to = base + scale*sum_j x_j + mu*(base - to). The sum is in the order of `summands`. Without a base, to =
// scale*sum_j x_j. `to` is read only where mu is not 0; it may be the base or a summand.
struct AveragePass {
  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* base = nullptr;
  void* to = nullptr;
  std::span<const void* const> summands;
  double scale = 1, mu = 0;
};

// Elements [begin, end): to = from + weight*(towards - from). `to` may be either of them. The weights 0 and 1 copy exactly.
struct BlendPass {
  Type type = Type::f32;
  size_t begin = 0, end = 0;
  const void* from = nullptr;
  const void* towards = nullptr;
  void* to = nullptr;
  double weight = 0;
};

// Elements [begin, end) of a vector.
struct VectorPart {
  const void* vector = nullptr;
  size_t begin = 0, end = 0;
};

// Called by many threads at once. Implemented in cpu/kernels/vector_passes.cpp, cpu/reference/vector_passes.cpp and cuda/passes/.
class VectorPasses {
 public:
  virtual ~VectorPasses() = default;

  virtual void optimise(const OptimiserPass& pass) = 0;
  virtual void average(const AveragePass& pass) = 0;
  // The steps of several learners and the sum of the corrections that they make, `sum.summands`: `optimise` and `average` as one. All are
  // over the same elements. A correction that only the sum reads may be left unwritten.
  virtual void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) = 0;
  virtual void blend(const BlendPass& pass) = 0;
  // sums[i] is the sum of the squares of the elements of parts[i], the same for every number of threads. Done when the call returns.
  virtual void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) = 0;
  // Elements of one call where several threads share a pass: few enough to stay in a core's cache.
  virtual size_t piece() const = 0;
};

}  // namespace arbalest
