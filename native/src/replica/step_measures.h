// What a step measures: its loss, and the samples that it got right, over all its batches.
#pragma once

#include <array>
#include <optional>

#include "core/program.h"
#include "replica/replica_memory.h"

namespace arbalest {

class StepMeasures {
 public:
  StepMeasures(const Program& program, const ReplicaMemory& memory);

  void begin();
  // A further batch of the same step: those of the one before are added up.
  void advance();
  // The arena in which they lie is about to be given back.
  void keep();
  // The batch is measured: its values are read now and not after what is queued next, for which the host would wait.
  void settle() {
    if (!kept_) keep();
  }

  // Sums over the batches that have run; 0 for what the program does not measure.
  double loss() { return both()[0]; }
  double correct() { return both()[1]; }

 private:
  using Pair = std::array<double, 2>;  // of loss and correct

  Pair both() {
    settle();
    return {earlier_[0] + (*kept_)[0], earlier_[1] + (*kept_)[1]};
  }

  const ReplicaMemory& memory_;
  const PlacedValue *const loss_, *const correct_;  // null where the program has none
  Pair earlier_{};
  std::optional<Pair> kept_;
};

}  // namespace arbalest
