// The gradients of a step, which is of one batch or of several: then they are the mean over all of them.
#pragma once

#include "replica/replica_memory.h"

namespace arbalest {

class StepGradients {
 public:
  StepGradients(ReplicaMemory& memory, int64_t batches) : memory_(memory), batches_(batches) {}

  void begin();
  // A further batch of the same step: the gradients of those before it are kept aside.
  void advance();
  // Backward has run for the present batch.
  void arrive() { arrived_ = true; }
  bool arrived() const { return arrived_; }

  int64_t batches() const { return begun_; }                           // that have begun,
  int64_t finished() const { return arrived_ ? begun_ : begun_ - 1; }  // and those whose backward has run
  bool last() const { return begun_ == batches_; }

  // After the last batch: replaces elements [begin, end) by the mean over all batches.
  void average(size_t begin, size_t end);
  // The same for all elements, once.
  void average();
  // All ranges have been averaged.
  void mark_averaged() { averaged_ = true; }

 private:
  ReplicaMemory& memory_;
  const int64_t batches_;
  int64_t begun_ = 1;
  bool arrived_ = false, averaged_ = false;
};

}  // namespace arbalest
