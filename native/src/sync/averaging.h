// What becomes of what the learners bring to a round: each device sums what its own learners bring, the levels sum over the devices and
// beyond, and each device applies the rule to its own copy of the central model. Where there are no levels the rule is applied to the
// contributions at once. It goes bucket by bucket, in passes that are shared out among whoever would otherwise wait.
//
// One round at a time. Its owner's lock is held in every call, but for those that are const; passes run without it.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sync/central_model.h"
#include "sync/shared_pass.h"
#include "transport/ascent.h"
#include "transport/device_streams.h"

namespace arbalest {

// What one learner brings, and the point in its stream at which it is there.
struct Contribution {
  std::shared_ptr<Memory> vector;
  std::shared_ptr<const DueStep> due = nullptr;  // in lockstep: what has yet to make it
  std::shared_ptr<Event> ready = nullptr;
};

class Averaging {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // Under `mutex`, `changed` is told of new passes, and `whole` called where a round is.
  Averaging(Backend& backend, const GroupSpec& spec, std::vector<Bucket> buckets, const std::byte* initial_canonical, std::mutex& mutex,
            std::condition_variable& changed, std::function<void()> whole);
  ~Averaging();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  bool has_streams() const { return streams_.stream(0) != nullptr; }
  size_t devices() const { return central_.size(); }
  Backend& backend(size_t device) const { return streams_.backend(device); }
  const CentralModel& central(size_t device = 0) const { return central_[device]; }
  void restart(const std::byte* canonical);
  void restore(int64_t round, const Snapshot& snapshot);

  // From this round on these devices have learners.
  void set_present(int64_t round, const std::vector<int>& devices);
  // The first of a round's contributions are there; so many devices bring some, or would have.
  void begin(const RoundEnd& round, size_t present);
  // All that a device's learners bring of a bucket, in learner order; none where they have all gone.
  void meet(size_t bucket, size_t device, const std::vector<Contribution>& contributions);

  bool has_pieces() const { return pass_with_pieces() != nullptr; }
  // Does pieces of whatever is begun until none is left. What fails does so for all who wait, and not for the one who has helped.
  void help(Lock& lock);
  // The calling thread's stream, which is the device's, goes on after the last whole round's passes there.
  void follow(size_t device) const;
  // Of a pass or a level; no round becomes whole any more.
  std::exception_ptr failure() const { return failure_; }
  std::vector<LevelSpan> level_spans() { return spans_.take(); }

 private:
  struct Pass {
    size_t device = 0;
    std::shared_ptr<SharedPass> work;
    std::function<void(Lock&)> then;  // once all of it is done
  };
  // The devices' sums of a bucket, for the levels.
  struct Parts {
    std::vector<Part> parts;
    size_t missing = 0;
  };
  // On streams a round is whole once its passes are queued; what they read is kept until they have run.
  struct Queued {
    std::vector<std::shared_ptr<Event>> done;  // by device
    std::vector<std::shared_ptr<const void>> kept;
  };

  void summed(size_t bucket, size_t device, Part part);
  // The levels give also those devices a sum that bring nothing, after they have read that of the round before.
  void follow_absent(std::vector<Part>& parts) const;
  void arrived_from_above(const Passage& passage);
  // What comes of a bucket is there on a device: contributions of so many learners, or the sum of them.
  void apply(size_t bucket, size_t device, const std::vector<const void*>& contributions, int64_t learners);
  // The steps that all contributions are due from, and the rule.
  void apply(size_t bucket, const std::vector<const void*>& contributions, const std::vector<std::shared_ptr<const DueStep>>& due);
  // A bucket's present pass is done on one device.
  void applied(Lock& lock);
  void finish();
  void begin_pass(size_t bucket, size_t device, SharedPass::Work work, std::function<void(Lock&)> then);
  const Pass* pass_with_pieces() const;
  void fail(std::exception_ptr failure);

  const Type type_;
  const std::vector<Bucket> buckets_;
  std::mutex& mutex_;
  std::condition_variable& changed_;
  const std::function<void()> whole_;
  const DeviceStreams streams_;       // of a device's passes
  std::deque<CentralModel> central_;  // a device's each, equal bit for bit
  std::vector<Memory> sums_;          // of each device's learners, where there are levels

  int64_t round_ = 0;
  std::vector<Parts> parts_;                       // by bucket
  std::vector<std::shared_ptr<const void>> kept_;  // what the passes of the round read
  size_t carried_ = 0;                             // buckets that are on their way through the levels, or were
  size_t left_ = 0;                                // buckets, each on every device, whose present pass is not done
  int64_t brought_ = 0;                            // contributions to any bucket
  bool weighed_ = false;                           // the sum is whole, and the rule is being applied

  std::vector<Pass> passes_;
  double passes_from_ = 0;     // since when there have been some
  std::deque<Queued> queued_;  // the last whole round's at the end
  Level* between_devices_ = nullptr;
  std::vector<int> present_;  // as the level between devices was told
  std::exception_ptr failure_;
  LevelSpans spans_;
  std::unique_ptr<Ascent> ascent_;  // where there are levels; its threads end before all else goes
};

}  // namespace arbalest
