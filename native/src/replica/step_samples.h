// Which samples a step loads, and where they lie: those at its position in the data, those that the learner chose, or a batch that streams
// in.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/program.h"
#include "data/source.h"
#include "device/stream.h"
#include "replica/run_report.h"
#include "replica/training_group.h"

namespace arbalest {

class StepSamples {
 public:
  // `queues`: kernels run when their turn comes, and read a copy of what streams in.
  StepSamples(Streams& streams, const Program& program, const Source& source, uint64_t seed, bool queues);

  // The batch at this position.
  void begin(uint64_t position);
  // The batch after it.
  void advance() { begin(context_.position + static_cast<uint64_t>(batch_)); }
  // The learner's choice in its place; none for what stands at the position. Throws INVALID_OPTION.
  void choose(const std::vector<int64_t>& samples);
  // What streams in is there before the first operator of `load`.
  Outcome fetch(Clock::time_point deadline, const std::atomic<bool>& cancelled, RunReport& report);
  // It has been loaded, or is not wanted any more.
  void release();

  const StepContext& context() const { return context_; }

 private:
  Streams& streams_;
  const Source source_;
  const int64_t batch_;
  const bool queues_;
  std::optional<BatchStream::Reader> reader_;  // where what `load` takes streams in
  BatchStream::Request request_;
  StepContext context_;
  bool fetched_ = false;
};

}  // namespace arbalest
