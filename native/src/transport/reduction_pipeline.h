// The way of a round's buckets up through the levels. Each level has a thread of its own, so that its work overlaps the learners' next step
// and the other levels' work on other buckets. All levels see the buckets in one order.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/condition_variable.h"
#include "transport/averaging_spans.h"
#include "transport/level.h"

namespace arbalest {

class ReductionPipeline {
 public:
  // Called by the last level's thread, with the sums over all ranks of all levels.
  using Reduced = std::function<void(const BucketReduction&)>;
  // Called by the thread of the level that fails, or of the last one where `reduced` throws. That thread reduces nothing more.
  using Failed = std::function<void(std::exception_ptr)>;

  ReductionPipeline(std::vector<std::unique_ptr<Level>> levels, AveragingSpans& spans, Reduced reduced, Failed failed);
  ~ReductionPipeline();
  ReductionPipeline(const ReductionPipeline&) = delete;
  ReductionPipeline& operator=(const ReductionPipeline&) = delete;

  // In the order of rounds, and of the buckets of a round.
  void start(BucketReduction reduction);
  // For which reductions have been under way between hosts.
  double exchange_seconds() const { return exchange_seconds_; }
  // Gives up all that is under way. Its threads are gone when it returns; streams may still work on the reductions that they have queued.
  void end();

 private:
  struct Stage {
    std::deque<BucketReduction> arriving;
    std::atomic<bool> called{false};  // a reduction has come, or all are given up
    std::condition_variable changed;
    std::thread thread;
  };

  void push(size_t level, BucketReduction reduction);
  // All that has come to the level; waits where there is nothing, and nothing is under way.
  std::deque<BucketReduction> take(size_t level, bool under_way);
  // The thread of a level.
  void work(size_t level);
  void reduce_all(size_t level);

  const std::vector<std::unique_ptr<Level>> levels_;
  AveragingSpans& spans_;
  const Reduced reduced_;
  const Failed failed_;
  std::atomic<bool> given_up_{false};
  std::atomic<double> exchange_seconds_{0};
  std::mutex mutex_;
  std::deque<Stage> stages_;
};

}  // namespace arbalest
