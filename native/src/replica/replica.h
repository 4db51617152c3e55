// One copy of the weights with its memory, and the programs that are bound to it. One thread at a time runs it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "device/activation_arenas.h"
#include "device/backend.h"
#include "device/lease_user.h"
#include "replica/replica_memory.h"
#include "replica/run_report.h"
#include "replica/step_loop.h"
#include "replica/training_group.h"

namespace arbalest {

struct ReplicaSpec {
  ParameterLayout layout;
  size_t device = 0;  // the number of the backend's device
  int threads = 1;
  uint64_t seed = 0;
  // The group in which it trains, and its learner's number there; none for evaluation.
  std::shared_ptr<TrainingGroup> group = nullptr;
  int learner = -1;
  // With arenas the activations lie in one of them while `run` computes. They become the replica's own as soon as it has a second program,
  // runs segments one by one or is written a value.
  std::shared_ptr<ActivationArenas> arenas = nullptr;
  // The turns of several jobs on the device, and the number of the replica's job; none where there is one job.
  std::shared_ptr<DeviceLease> lease = nullptr;
  int job = 0;
  // Of its own activations.
  HostTierSpec tier = {};
  MovedVectors moved = {};
};

class Replica {
 public:
  Replica(Backend& backend, ReplicaSpec spec);
  ~Replica();

  int bind(std::shared_ptr<const Program> program, const Source& source);
  RunReport run(int slot, const RunLimits& limits);
  Outcome run_segment(int slot, Segment segment, const RunLimits& limits);
  void cancel() { cancelled_ = true; }
  std::vector<OperatorProfile> profile(int slot) { return steps(slot).bound().profile(); }

  // A named value, or one that outlives steps by its own name; canonical order, in the value's own type (bf16 as f32).
  TensorSpec value_spec(int slot, const std::string& name) const;
  void read_value(int slot, const std::string& name, std::byte* canonical);
  void write_value(int slot, const std::string& name, const std::byte* canonical);
  void read_vector(VectorName which, std::byte* canonical);
  void write_vector(VectorName which, const std::byte* canonical);
  // The weights become what the group evaluates. Returns the number of the last whole round.
  int64_t adopt(const TrainingGroup& group);
  // The weights and the optimiser's states; between two steps.
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

  const ParameterLayout& layout() const { return memory_.layout(); }
  Backend& backend() const { return backend_; }
  // Where copies of its vectors lie.
  Backend& snapshots() const { return memory_.vectors_backend(); }

 private:
  class Access;

  StepLoop& steps(int slot) const;
  void own_activations(size_t bytes = 0, size_t staged = 0);

  Backend& backend_;
  const size_t device_;
  const int threads_;
  const uint64_t seed_;
  const std::shared_ptr<TrainingGroup> group_;
  const int learner_;
  const std::unique_ptr<Stream> stream_;
  ReplicaMemory memory_;
  std::atomic<bool> cancelled_{false};
  const std::unique_ptr<LeaseUser> lease_;
  std::vector<std::unique_ptr<StepLoop>> slots_;  // a bound program each
};

}  // namespace arbalest
