// The memory of a replica: vectors laid out like the parameters, statistics, the optimiser's states, and activations, which are its own
// or lie in an arena that it shares.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/program.h"
#include "device/activation_arenas.h"
#include "device/backend.h"
#include "device/moved_vectors.h"
#include "device/parameter_vectors.h"
#include "replica/optimiser.h"
#include "replica/snapshot.h"
#include "replica/training_group.h"

namespace arbalest {

// Bytes that a replica holds by itself; weights that it shares with others are not counted.
struct ReplicaBytes {
  size_t weights = 0, gradients = 0, statistics = 0, activations = 0;
  size_t optimiser = 0;  // its states, and the gradients of earlier batches of a step
};

class ReplicaMemory {
 public:
  // `weights`: shared with other replicas; null for its own, which are zeros until its first step copies the central model.
  // `tier`: where the second tier of its activations lies, unless that is an arena's.
  ReplicaMemory(Backend& backend, ParameterLayout layout, std::shared_ptr<Memory> weights, std::shared_ptr<ActivationArenas> arenas,
                HostTierSpec tier = {}, MovedVectors moved = {});

  // Allocates what the program needs, its activations excepted. `owns_optimiser`: the replica has the optimiser, and not its group. Throws
  // INVALID_PROGRAM if another program of the replica has another layout of the statistics or another optimiser.
  void provide(const Program& program, bool owns_optimiser);
  // Puts the activations, of these sizes, into arenas that it shares, if there are any of these sizes. False if there are none, or if it
  // has activations already.
  bool share(size_t bytes, size_t staged);
  // Allocates activations of its own, with a second tier of `staged` bytes, and leaves the shared arenas. Kernels must be made again over
  // them. If it throws, the activations are those that it had.
  void own_activations(size_t bytes, size_t staged);

  Backend& backend() const { return backend_; }
  // Whose passes, copies and reorders take the vectors, wherever they lie.
  Backend& vectors_backend() const { return states_; }
  // Where weights and gradients lie that are not on the device; null if they are.
  StagedVectors* moved_vectors() const { return moved_.all ? moved_.tier.get() : nullptr; }
  // Transfers of these, which are settled one by one.
  void begin_transfer(size_t transfer, const void* vector) { unsettled_.emplace_back(transfer, vector); }
  void settle_transfer(size_t transfer);
  const ParameterLayout& layout() const { return layout_; }
  size_t elements() const { return layout_.length(); }

  std::byte* address(const PlacedValue& value) const;
  std::byte* activations() const { return user_ ? user_->data() : activations_.data(); }
  size_t own_bytes() const { return activations_.bytes(); }
  size_t own_staged() const { return staged_; }
  // Null if no program moves values.
  HostTier* tier() const { return user_ ? user_->tier() : tier_.get(); }
  // After a step that has not been completed.
  void abandon_transfers() noexcept;
  ReplicaBytes bytes() const;
  // Bytes that one update reads and writes: the replica's own, or its group's.
  size_t update_bytes(const TrainingGroup* group) const;
  // Null if the activations are its own.
  ArenaUser* user() const { return user_.get(); }
  size_t arena() const { return user_ ? static_cast<size_t>(user_->index()) : 0; }

  const Memory& weights() const { return *weights_; }
  // Throws UNKNOWN_NAME for a state that its optimiser does not keep.
  const Memory& vector(VectorName which);
  LearnerVectors vectors() { return {weights_, gradients_, optimiser_}; }

  // For a step of several batches: adds up the gradients of one batch; replaces elements [begin, end) by the mean over all batches.
  void keep_gradients(bool first);
  void average_gradients(size_t begin, size_t end, int64_t batches);
  // One step of its own optimiser.
  void step(double rate);

  // The weights and the optimiser's states.
  void capture(Snapshot& snapshot) const;
  void restore(const Snapshot& snapshot);

 private:
  void provide_training(const Program& program, const OptimiserSpec& optimiser, bool owns_optimiser);

  Backend& backend_;
  const MovedVectors moved_;
  Backend &states_, &vectors_;  // where they lie
  const ParameterLayout layout_;
  // Shared: the group may still read them after the replica has gone.
  std::shared_ptr<Memory> weights_, gradients_;
  const bool shares_weights_;
  const HostTierSpec tier_spec_;
  Memory accumulated_, statistics_, activations_;
  size_t staged_ = 0;
  std::unique_ptr<HostTier> tier_;            // its transfers end before the activations do
  std::shared_ptr<ActivationArenas> arenas_;  // null once its activations lie somewhere
  std::unique_ptr<ArenaUser> user_;
  std::vector<std::pair<size_t, const void*>> unsettled_;
  std::shared_ptr<Optimiser> optimiser_;  // of the first program that trains; shared, as the group may still take a due step
};

}  // namespace arbalest
