// How the contributions of a round become the next central model: each device sums those of its own learners, the levels sum over the
// devices and beyond, and each device applies the rule to its own copy of the central model. Without levels the rule is applied to the
// contributions at once.
//
// All of it goes bucket by bucket, in passes that the threads which would otherwise wait share out among themselves. Averaging has no lock:
// its owner serialises the calls, all but work_on() and the const ones.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "sync/central_model.h"
#include "sync/shared_pass.h"
#include "transport/device_streams.h"
#include "transport/reduction_pipeline.h"

namespace arbalest {

// A learner's vector, and the point in its stream at which it is whole.
struct Contribution {
  std::shared_ptr<Memory> vector;
  std::shared_ptr<const DueStep> due = nullptr;  // in lockstep: the step that has yet to make it
  std::shared_ptr<Event> ready = nullptr;
};

class Averaging {
 public:
  class Pass;

  // The levels' threads call `reduced` with each bucket's sum over all learners, which the owner hands to take_sum(), and `failed` where a
  // level fails. Without levels neither is called.
  Averaging(Backend& backend, const GroupSpec& spec, std::vector<Bucket> buckets, const std::byte* initial_canonical,
            ReductionPipeline::Reduced reduced, ReductionPipeline::Failed failed);
  ~Averaging();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  bool has_streams() const { return streams_.stream(0) != nullptr; }
  size_t devices() const { return central_.size(); }
  Backend& backend(size_t device) const { return streams_.backend(device); }
  const CentralModel& central(size_t device = 0) const { return central_[device]; }
  void restart(const std::byte* canonical);
  void restore(int64_t round, const Snapshot& snapshot);

  // One round at a time.
  // From this round on these devices have learners.
  void set_present(int64_t round, const std::vector<int>& devices);
  // The first contributions of a round are there; `present` devices bring some.
  void begin(const RoundEnd& round, size_t present);
  // All contributions of a device's learners to a bucket, in learner order; none where all of them have gone.
  void meet(size_t bucket, size_t device, const std::vector<Contribution>& contributions);
  void take_sum(const BucketReduction& reduction);

  // A pass that has pieces left; null where none has.
  std::shared_ptr<Pass> next_pass() const;
  // Without the owner's lock. Does pieces of the pass until none is left; true for the one caller that has finished the last of all.
  bool work_on(Pass& pass) const;
  // All of the pass is done: begins what follows. True where its round is whole.
  bool finish(const Pass& pass);

  // The calling thread's stream, which is the device's, goes on after the last whole round's passes there.
  void follow(size_t device) const;
  // No round becomes whole any more.
  void fail(std::exception_ptr failure);
  std::exception_ptr failure() const { return failure_; }
  std::vector<LevelSpan> level_spans() { return spans_.take(); }

 private:
  // A bucket's sums by device, for the levels.
  struct DeviceSums {
    std::vector<PartialSum> parts;
    size_t missing = 0;
  };
  // On streams a round is whole once its passes are queued; the vectors that they read are kept until they have run.
  struct Queued {
    std::vector<std::shared_ptr<Event>> done;  // by device
    std::vector<std::shared_ptr<const void>> kept;
  };

  void summed(size_t bucket, size_t device, PartialSum part);
  // The levels write a sum also to devices that bring nothing, after these have read that of the round before.
  void follow_absent(std::vector<PartialSum>& parts) const;
  // The rule, on a device: to contributions of `learners` learners, or to the sum of them.
  void apply(size_t bucket, size_t device, const std::vector<const void*>& contributions, int64_t learners);
  // In lockstep: the steps that all contributions are due from, and the rule.
  void apply(size_t bucket, const std::vector<const void*>& contributions, const std::vector<std::shared_ptr<const DueStep>>& due);
  // A bucket's present pass is done on one device. True where the round is whole.
  bool applied();
  // The whole sum is there, and no rule has been applied yet.
  void begin_weighing();
  void begin_applying();
  void finish_round();
  void begin_pass(std::shared_ptr<Pass> pass);
  void begin_pass(size_t bucket, size_t device, SharedPass::Work work, std::function<bool()> then);

  const Type type_;
  const std::vector<Bucket> buckets_;
  const DeviceStreams streams_;       // of a device's passes
  std::deque<CentralModel> central_;  // one a device, equal bit for bit
  std::vector<Memory> sums_;          // of each device's learners, where there are levels

  int64_t round_ = 0;
  std::vector<DeviceSums> device_sums_;            // by bucket
  std::vector<std::shared_ptr<const void>> kept_;  // what the passes of the round read
  size_t started_ = 0;                             // buckets that have been handed to the levels
  size_t left_ = 0;                                // buckets, each on every device, whose present pass is not done
  int64_t contributions_ = 0;                      // to any bucket
  bool weighed_ = false;                           // the sum is whole, and the rule is being applied

  std::vector<std::shared_ptr<Pass>> passes_;
  double passes_from_ = 0;     // since when there have been some
  std::deque<Queued> queued_;  // the last whole round's at the end
  Level* between_devices_ = nullptr;
  std::vector<int> present_;  // as the level between devices was told
  std::exception_ptr failure_;
  LevelSpans spans_;
  std::unique_ptr<ReductionPipeline> pipeline_;  // where there are levels; its threads end before all else goes
};

}  // namespace arbalest
