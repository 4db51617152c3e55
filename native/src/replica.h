// One copy of the weights with its memory, and the programs that are bound to it. One thread at a time runs it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arenas.h"
#include "backend.h"
#include "optimiser.h"
#include "program.h"
#include "source.h"
#include "sync/group.h"
#include "vectors.h"

namespace arbalest {

struct RunLimits {
  int64_t steps = 1;
  double milliseconds = 50;
  uint64_t position = 0;         // of the first batch, for a replica without a group
  std::optional<double> rate;    // of `update`, in the place of the group's
  std::vector<int64_t> samples;  // (batch), that one `load` takes in the place of those at its position
};

struct RunReport {
  enum class Outcome { ran, waiting, paused, evicted, cancelled };
  Outcome outcome = Outcome::ran;
  int64_t steps = 0;
  double loss_sum = 0, correct_sum = 0, busy_seconds = 0;
  double wait_seconds = 0, data_seconds = 0;  // for the group, for a stream's batch
};

struct OperatorProfile {
  Segment segment = Segment::load;
  std::string kind, name, implementation;
  int64_t runs = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

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
  std::vector<OperatorProfile> profile(int slot);

  const ParameterLayout& layout() const { return layout_; }
  Backend& backend() const { return backend_; }

 private:
  struct Bound;
  struct Step;
  class Turn;

  Bound& bound(int slot) const;
  void prepare(Bound& bound);
  void make_kernels(Bound& bound);
  void own_activations(size_t bytes);
  size_t arena() const { return user_ ? static_cast<size_t>(user_->index()) : 0; }
  std::byte* activations() const { return user_ ? user_->data() : activations_.data(); }
  Entry take_arena(Bound& bound, Clock::time_point deadline, RunReport& report);
  void give_arena_back(Bound& bound);
  std::byte* address(const PlacedValue& value);
  const PlacedValue& readable(int slot, const std::string& name) const;
  Memory& vector(Vector which);
  LearnerVectors vectors();
  Entry begin(Bound& bound, const RunLimits& limits, int64_t done, Clock::time_point deadline, RunReport& report);
  void choose(Bound& bound, const std::vector<int64_t>& samples);
  Entry fetch(Bound& bound, Clock::time_point deadline, RunReport& report);
  void release_batch(Bound& bound);
  Entry meet(Bound& bound, Clock::time_point deadline, RunReport& report);
  void begin_batch(Bound& bound);
  void settle(Bound& bound, size_t begin, size_t end);
  void settle_all(Bound& bound);
  bool loss_is_finite(Bound& bound);
  bool run_operators(Bound& bound, Segment segment, bool offers);
  bool run_recorded(Bound& bound);
  void offer(Bound& bound, const Step& step);
  void offer_all(Bound& bound);
  RunReport::Outcome left(Bound& bound, Entry entry);
  void complete(Bound& bound, RunReport& report);
  void update(Bound& bound);
  double scalar(const Bound& bound, int value);

  Backend& backend_;
  const ParameterLayout layout_;
  const int threads_;
  const uint64_t seed_;
  const std::shared_ptr<Group> group_;
  const int learner_;
  const std::unique_ptr<Stream> stream_;
  // The group may have them beside the replica: what a member has brought outlives it.
  std::shared_ptr<Memory> weights_, gradients_;
  Memory accumulated_, statistics_, activations_;
  std::unique_ptr<ArenaUser> user_;       // null where the activations are its own
  std::shared_ptr<Optimiser> optimiser_;  // made for the first program that trains; a step that it is due outlives the replica
  std::vector<std::unique_ptr<Bound>> bound_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace arbalest
