// A program made ready over a replica's memory: the kernels of its operators, and what has been measured of them.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/program.h"
#include "core/transfers.h"
#include "data/source.h"
#include "device/backend.h"
#include "replica/replica_memory.h"
#include "replica/run_report.h"
#include "replica/training_group.h"

namespace arbalest {

struct BoundOperator {
  const PlacedOperator* placed = nullptr;
  // One for each arena in which it has run: their pointers are fixed. Exchange and update have none: they are the replica's own.
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<size_t> completes;  // buckets that the group takes, whose gradient is whole after it
  std::vector<size_t> pulls;      // buckets of the group's model that it is the first one of `forward` to read
  double bytes = 0;               // that a run reads and writes
  int64_t runs = 0;
  double seconds = 0;
};

// One recording of a step.
struct RecordedPart {
  std::unique_ptr<Recording> recording;
  std::span<const BoundOperator> backward;  // its operators of that segment
  bool reads_back = false;                  // the measures, behind `forward`
};

class BoundProgram {
 public:
  // The memory has what the program needs. `group`: in which it trains, or null. Throws INVALID_PROGRAM, INVALID_STATE, SHAPE_MISMATCH.
  BoundProgram(std::shared_ptr<const Program> program, const Source& source, ReplicaMemory& memory, const TrainingGroup* group);

  const Program& program() const { return *program_; }
  bool trains() const { return trains_; }
  // Whether it moves values between tiers.
  bool transfers() const { return !transfers_.empty(); }
  // Batches of a step.
  int64_t accumulate() const { return accumulate_; }

  std::vector<BoundOperator>& operators(Segment segment) { return segments_[static_cast<size_t>(segment)]; }
  Kernel* kernel(const BoundOperator& op) const { return op.kernels[memory_.arena()].get(); }
  // Makes kernels over the present activations, if they have not been made.
  void make_kernels();
  // The activations lie elsewhere for good: kernels have to be made again.
  void forget_kernels();
  // The step's recordings, from load to backward; several where the group sends its buckets. Empty where the device does not record, and at
  // the first call: a first step runs unrecorded, in which libraries load what they need. The second call records. `company`: of those
  // learners whose steps may run as one with it, or null. `readback`: of the measures, or null.
  std::span<const RecordedPart> recordings(const StepContext& context, const void* company, Readback* readback);

  // A named value, or one that outlives steps by its own name. Throws UNKNOWN_NAME.
  const PlacedValue& readable(const std::string& name) const;

  // What has been measured since it was asked last; from the first time on it measures.
  std::vector<OperatorProfile> profile();
  bool profiling() const { return profiling_; }

 private:
  BoundOperator prepared(const PlacedOperator& op, const TrainingGroup* group) const;
  std::unique_ptr<Kernel> kernel_of(const PlacedOperator& op) const;
  std::unique_ptr<Kernel> moving(const PlacedOperator& op, const Transfer& transfer) const;
  OperatorSpec placed(const PlacedOperator& op) const;
  void record(const StepContext& context, const void* company, Readback* readback);
  void check_samples(const OperatorSpec& load) const;

  const std::shared_ptr<const Program> program_;
  const Source source_;
  ReplicaMemory& memory_;
  const std::vector<Transfer> transfers_;
  size_t first_vector_transfer_ = 0;  // its number among those of the replica's vectors
  std::array<std::vector<BoundOperator>, kSegments> segments_;
  bool trains_ = false;
  int64_t accumulate_ = 1;
  std::vector<bool> made_;    // the arenas for which there are kernels
  std::vector<size_t> ends_;  // of backward's parts
  std::vector<RecordedPart> recordings_;
  bool ran_ = false, profiling_ = false;
};

}  // namespace arbalest
