// The measures of a step over all its batches: its loss, and the number of correct samples.
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
  // Another batch of the same step: adds the measures of the batch before to those of earlier ones.
  void advance();
  // Reads the measures from the arena, which is about to be given back.
  void keep();
  // Reads the measures of the batch, if that has not been done. Call it before more work is queued, for which the host would wait.
  void read() {
    if (!kept_) keep();
  }

  // Sums over the batches that have run; 0 for what the program does not measure.
  double loss() { return both()[0]; }
  double correct() { return both()[1]; }

 private:
  using Pair = std::array<double, 2>;  // of loss and correct

  // One copy in the place of two, where both lie so close that the bytes between them cost less than another copy.
  std::optional<Pair> read_at_once() const;
  Pair read_apart() const;
  Pair both() {
    read();
    return {earlier_[0] + (*kept_)[0], earlier_[1] + (*kept_)[1]};
  }

  const ReplicaMemory& memory_;
  const PlacedValue *const loss_, *const correct_;  // null where the program has none
  Pair earlier_{};
  std::optional<Pair> kept_;
};

}  // namespace arbalest
