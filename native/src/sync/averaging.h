// How the contributions of a round become the next central model: each device sums those of its own learners, the levels sum over the
// devices and beyond, and each device applies the rule to its own copy of the central model. Without levels the rule is applied to the
// contributions at once.
//
// The work is done bucket by bucket, in passes that the waiting threads share. Averaging has no lock: its owner serialises all calls but
// work_on() and the const ones.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sync/central_model.h"
#include "sync/shared_pass.h"
#include "transport/device_streams.h"
#include "transport/reduction_pipeline.h"

namespace arbalest {

// A learner's vector, and the point in the learner's stream from which it is complete.
struct Contribution {
  std::shared_ptr<Memory> vector;
  std::shared_ptr<const DueStep> due = nullptr;  // in lockstep: the step that has yet to make it
  std::shared_ptr<Event> ready = nullptr;
};

class Averaging {
 public:
  class Pass;

  // The levels' threads call `reduced` with each bucket's sum over all learners, which the owner hands to take_sum(), and `failed` if a
  // level fails. Without levels neither is called.
  Averaging(Backend& backend, const GroupSpec& spec, std::vector<Bucket> buckets, const std::byte* initial_canonical,
            ReductionPipeline::Reduced reduced, ReductionPipeline::Failed failed);
  ~Averaging();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  bool has_streams() const { return streams_.stream(0) != nullptr; }
  bool has_levels() const { return pipeline_ != nullptr; }
  size_t devices() const { return central_.size(); }
  Backend& backend(size_t device) const { return streams_.backend(device); }
  const CentralModel& central(size_t device = 0) const { return central_[device]; }
  void replace(const std::byte* canonical);
  void set_momentum(double momentum);
  // |w - z| of a vector on a device and the central model that the round begins at. `difference` is written. In the thread's own stream
  // there.
  double distance(size_t device, int64_t round, const Memory& weights, const Memory& difference) const;
  UsedStream use_stream(size_t device) const { return streams_.use(device); }
  void restore(int64_t round, const Snapshot& snapshot);

  // One round at a time.
  // From this round on, exactly these devices have learners.
  void set_present(int64_t round, const std::vector<int>& devices);
  // The first contributions of a round are there; `present` devices bring some.
  void begin(const ClosingRound& round, size_t present);
  // All contributions of a device's learners to a bucket, in learner order; empty if all of them have been evicted.
  void take_contributions(size_t bucket, size_t device, const std::vector<Contribution>& contributions);
  void take_sum(const BucketReduction& reduction);
  // Whether the bucket of the model that the round makes is there, on all devices. Not asked where passes run on streams.
  bool has_made(int64_t round, size_t bucket) const { return round_ == round && !unmade_.empty() && unmade_[bucket] == 0; }

  // A pass that has pieces left; null if none has.
  std::shared_ptr<Pass> next_pass() const;
  // Without the owner's lock. Does pieces of the pass until none is left. True for exactly one caller: the one that finishes the last
  // piece.
  bool work_on(Pass& pass) const;
  // The pass is done: begins the next. True if its round is whole.
  bool finish(const Pass& pass);

  // The calling thread's stream, which must be the device's, continues after the passes of the last whole round there.
  void follow(size_t device) const;
  // No further round becomes whole.
  void fail(std::exception_ptr failure);
  std::exception_ptr failure() const { return failure_; }
  std::vector<AveragingSpan> averaging_spans() { return spans_.take(); }
  // That the passes have taken since the last call, where threads wait for them.
  double take_pass_seconds() { return std::exchange(pass_seconds_, 0); }
  double exchange_seconds() const { return pipeline_ ? pipeline_->exchange_seconds() : 0; }

 private:
  // A bucket's sums by device, for the levels.
  struct DeviceSums {
    std::vector<PartialSum> parts;
    size_t missing = 0;
  };
  // On streams a round is whole once its passes are queued. The vectors that the passes read are kept until these have run.
  struct Queued {
    std::vector<std::shared_ptr<Event>> done;  // by device
    std::vector<std::shared_ptr<const void>> kept;
  };

  // Hands the buckets to the levels of which no part is missing.
  void start_whole_buckets();
  void take_device_sum(size_t bucket, size_t device, PartialSum part);
  // A device without contributions gets the sum, too. The levels may write it only after that device has read the sum of the round before.
  void follow_absent(std::vector<PartialSum>& parts) const;
  // Applies the rule on a device, to the contributions of `learners` learners or to their sum.
  void apply(size_t bucket, size_t device, const std::vector<const void*>& contributions, int64_t learners);
  // The owners have applied it: takes their chunks.
  void adopt(size_t bucket, size_t device);
  // In lockstep: takes the due steps of all learners and applies the rule.
  void apply_due_steps(size_t bucket, const std::vector<const void*>& contributions,
                       const std::vector<std::shared_ptr<const DueStep>>& due);
  // A bucket's present pass is done on one device. True if the round is whole.
  bool finish_bucket(size_t bucket);
  // The sum is complete, and the rule has not been applied to any part of it.
  void begin_measuring_norms();
  void begin_applying();
  void finish_round();
  void begin_pass(std::shared_ptr<Pass> pass);
  void begin_pass(size_t bucket, size_t device, SharedPass::Work work, std::function<bool()> then);

  const Type type_;
  const size_t elements_;
  const std::vector<std::pair<size_t, size_t>> frozen_;
  const std::vector<Bucket> buckets_;
  const bool owners_apply_;           // the rule, over hosts
  const DeviceStreams streams_;       // of a device's passes
  std::deque<CentralModel> central_;  // one a device, equal bit for bit
  std::vector<Memory> sums_;          // over each device's learners, if there are levels

  int64_t round_ = 0;
  std::vector<DeviceSums> device_sums_;            // by bucket
  std::vector<std::shared_ptr<const void>> kept_;  // what the passes of the round read
  size_t started_ = 0;                             // buckets that have been handed to the levels
  size_t passes_left_ = 0;                         // passes of the present kind that are not done: one a bucket and device
  int64_t contributions_ = 0;                      // to any bucket, on all devices and hosts
  bool norms_measured_ = false;                    // the rule is being applied
  std::vector<size_t> unmade_;                     // by bucket: devices on which the rule has not been applied

  std::vector<std::shared_ptr<Pass>> passes_;
  double passes_from_ = 0;  // when passes_ last ceased to be empty
  double pass_seconds_ = 0;
  std::deque<Queued> queued_;  // the last whole round's at the end
  Level* between_devices_ = nullptr;
  std::vector<int> present_;  // as the level between devices was told
  std::exception_ptr failure_;
  AveragingSpans spans_;
  std::unique_ptr<ReductionPipeline> pipeline_;  // if there are levels; last, so that its threads end first
};

}  // namespace arbalest
