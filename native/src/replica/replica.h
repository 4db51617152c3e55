// One copy of the weights with its memory, and the programs that are bound to it. One thread at a time runs it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "device/arenas.h"
#include "device/backend.h"
#include "replica/replica_memory.h"
#include "replica/run.h"
#include "replica/step_loop.h"
#include "sync/group.h"

namespace arbalest {

class Replica {
 public:
  // With `arenas` the activations lie in one of them while `run` computes; they are the replica's own as soon as it has a second program,
  // runs segments one by one or is written a value.
  Replica(Backend& backend, ParameterLayout layout, int threads, uint64_t seed, std::shared_ptr<Group> group, int learner,
          std::shared_ptr<Arenas> arenas = nullptr);
  ~Replica();

  int bind(std::shared_ptr<const Program> program, const Source& source);
  RunReport run(int slot, const RunLimits& limits);
  RunReport::Outcome run_segment(int slot, Segment segment, const RunLimits& limits);
  void cancel() { cancelled_ = true; }
  std::vector<OperatorProfile> profile(int slot) { return steps(slot).bound().profile(); }

  // A named value, or one that outlives steps by its own name; canonical order, in the value's own type (bf16 as f32).
  TensorSpec value_spec(int slot, const std::string& name) const;
  void read_value(int slot, const std::string& name, std::byte* canonical);
  void write_value(int slot, const std::string& name, const std::byte* canonical);
  void read_vector(Vector which, std::byte* canonical);
  void write_vector(Vector which, const std::byte* canonical);
  int64_t adopt(const Group& group);
  // The weights and the optimiser's states; between two steps.
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

  const ParameterLayout& layout() const { return memory_.layout(); }
  Backend& backend() const { return backend_; }

 private:
  class Turn;

  StepLoop& steps(int slot) const;
  void own_activations(size_t bytes = 0);

  Backend& backend_;
  const int threads_;
  const uint64_t seed_;
  const std::shared_ptr<Group> group_;
  const int learner_;
  const std::unique_ptr<Stream> stream_;
  ReplicaMemory memory_;
  std::atomic<bool> cancelled_{false};
  std::vector<std::unique_ptr<StepLoop>> slots_;  // a bound program each
};

}  // namespace arbalest
