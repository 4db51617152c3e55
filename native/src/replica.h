// One copy of the weights with its memory, and the programs that are bound to it. One thread at a time runs it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend.h"
#include "program.h"
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
  double loss_sum = 0, correct_sum = 0, busy_seconds = 0, wait_seconds = 0;
};

struct OperatorProfile {
  Segment segment = Segment::load;
  std::string kind, name, implementation;
  int64_t runs = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

enum class Vector { weights, gradients, velocity };

class Replica {
 public:
  Replica(Backend& backend, ParameterLayout layout, int threads, uint64_t seed, std::shared_ptr<Group> group, int learner);
  ~Replica();

  int bind(std::shared_ptr<const Program> program, std::shared_ptr<const Dataset> dataset);
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
  std::vector<OperatorProfile> profile(int slot);

  const ParameterLayout& layout() const { return layout_; }

 private:
  struct Bound;
  struct Step;

  Bound& bound(int slot) const;
  void make_kernels(Bound& bound);
  std::byte* address(const PlacedValue& value);
  const PlacedValue& readable(int slot, const std::string& name) const;
  Memory& vector(Vector which);
  Entry begin(Bound& bound, const RunLimits& limits, int64_t done, Clock::time_point deadline, RunReport& report);
  void choose(Bound& bound, const std::vector<int64_t>& samples);
  Entry meet(Bound& bound, Clock::time_point deadline, RunReport& report);
  bool run_operators(Bound& bound, Segment segment);
  RunReport::Outcome left(Bound& bound, Entry entry);
  double complete(Bound& bound);
  void update(Bound& bound);
  double scalar(const Bound& bound, int value);

  Backend& backend_;
  const ParameterLayout layout_;
  const int threads_;
  const uint64_t seed_;
  const std::shared_ptr<Group> group_;
  const int learner_;
  Memory weights_, gradients_, velocity_, statistics_, activations_;
  std::vector<std::unique_ptr<Bound>> bound_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace arbalest
