// An optimiser over one parameter vector: its numbers, and the states that it keeps from step to step. A replica has one; under S-SGD the
// group has it instead, and steps the central model.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/attributes.h"
#include "core/buckets.h"
#include "core/program.h"
#include "device/backend.h"
#include "device/parameter_vectors.h"
#include "replica/snapshot.h"

namespace arbalest {

// The attributes of the operator `update` (src/compiler/optimiser.ts).
//
// SGD as in PyTorch. Adam: Kingma and Ba, ICLR 2015; AdamW: Loshchilov and Hutter, ICLR 2019. RMSprop: Tieleman and Hinton, "Neural
// networks for machine learning", lecture 6.5, 2012, as in PyTorch. LARS: You, Gitman and Ginsburg, "Large batch training of convolutional
// networks", 2017: the gradient of each parameter of more than one dimension is multiplied by trust*|w| / (|g| + decay*|w|), and the rate
// stays outside of the velocity, as in PyTorch's SGD.
struct OptimiserSpec {
  OptimiserPass::Algorithm algorithm = OptimiserPass::Algorithm::sgd;
  double momentum = 0, decay = 0;
  bool decoupled = false;  // the decay is of the weights, apart from the gradient
  bool nesterov = false;
  double beta1 = 0, beta2 = 0, epsilon = 0;
  double trust = 0;  // of LARS; 0 for every other
  double clip_norm = std::numeric_limits<double>::infinity(), clip_value = std::numeric_limits<double>::infinity();
  int64_t accumulate = 1;  // batches whose mean gradient makes one step
  // Numbers of their own for the parameters of groups 1, 2...; group 0 has those of all, and its own rate.
  struct Group {
    double decay = 0;   // instead of the weight decay of all
    double factor = 1;  // of the learning rate

    bool operator==(const Group&) const = default;
  };
  std::vector<Group> groups;

  bool operator==(const OptimiserSpec&) const = default;
};

// Whether a step has to know the whole gradient before its first element.
bool needs_norms(const OptimiserSpec& spec);

// Throws INVALID_PROGRAM for numbers that no optimiser takes.
OptimiserSpec optimiser_spec(const Attributes& attributes);
// The optimiser of the program's `update`; none for a program that does not train.
std::optional<OptimiserSpec> optimiser_of(const Program& program);

// The vectors of a replica that can be read and written by name.
enum class VectorName : uint8_t { weights, gradients, velocity, first_moment, second_moment };

class Optimiser {
 public:
  // `backend`: where its states lie. Steps are taken in the `owned` ranges alone, or in all if none are given: no page of its states that
  // lies outside of them is ever touched.
  Optimiser(Backend& backend, const ParameterLayout& layout, const OptimiserSpec& spec,
            std::optional<std::vector<Bucket>> owned = std::nullopt);

  // Whose passes take its states.
  Backend& backend() const { return backend_; }
  // Elements that one thread should take at a time.
  size_t piece() const { return backend_.piece(); }
  const OptimiserSpec& spec() const { return spec_; }
  bool needs_norms() const { return arbalest::needs_norms(spec_); }

  // Counts the next step; where norms are needed, `weights` and `gradients`, whose multiple by `scale` is meant, are whole.
  void begin(const std::byte* weights, const std::byte* gradients, double scale = 1);
  // Elements [begin, end) of that step, by as many threads as there are pieces. Of `pass` the vectors, the rate, the scale and the
  // contribution are given, the rest is filled in. Frozen parameters are passed over.
  void apply(OptimiserPass pass, size_t begin, size_t end) const;
  // The first of the passes that apply() makes of them: over elements that are trained alike. None where all are frozen.
  std::optional<OptimiserPass> first_pass(OptimiserPass pass, size_t begin, size_t end) const;
  // Bytes that a step reads and writes.
  size_t step_bytes(OptimiserPass::ContributionKind contribution_kind) const;
  // As new: zeroed states, and no step behind it.
  void restart();

  // Its states and its steps, under names that begin with `prefix`.
  void capture(Snapshot& snapshot, const std::string& prefix) const;
  void restore(const Snapshot& snapshot, const std::string& prefix);

  // Of its states.
  size_t bytes() const { return first_.bytes() + second_.bytes(); }
  // Null for a state that this optimiser does not keep.
  Memory* state(VectorName which);
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  // Elements that are trained alike: a parameter where each has a trust ratio of its own, else as much of a group as lies together.
  struct Range {
    size_t begin = 0, end = 0;
    OptimiserSpec::Group group;
    bool adapted = false;
    double trust = 1, squares = 0;  // in the present step
  };

  std::array<std::pair<const char*, const Memory*>, 2> named_states() const;
  OptimiserSpec::Group group_of(const PlacedParameter& parameter) const;

  Backend& backend_;
  const OptimiserSpec spec_;
  const Type type_;
  std::vector<Range> ranges_;
  const std::vector<Bucket> owned_;
  Memory first_, second_;
  // Whose norms a step wants, and their squares.
  std::vector<VectorPart> parts_;
  std::vector<double> sums_;
  int64_t steps_ = 0;
  double clip_ = 1;  // of the present step, by its gradient's norm
};

}  // namespace arbalest
