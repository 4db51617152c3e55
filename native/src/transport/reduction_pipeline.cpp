#include "transport/reduction_pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

ReductionPipeline::ReductionPipeline(std::vector<std::unique_ptr<Level>> levels, AveragingSpans& spans, Reduced reduced, Failed failed)
    : levels_(std::move(levels)), spans_(spans), reduced_(std::move(reduced)), failed_(std::move(failed)), stages_(levels_.size()) {
  try {
    for (size_t level = 0; level < levels_.size(); ++level) stages_[level].thread = std::thread([this, level] { work(level); });
  } catch (...) {
    end();
    throw;
  }
}

ReductionPipeline::~ReductionPipeline() { end(); }

void ReductionPipeline::end() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    for (Stage& stage : stages_) {
      stage.called = true;
      stage.changed.notify_all();
    }
  }
  for (const auto& level : levels_) level->wake();
  for (Stage& stage : stages_)
    if (stage.thread.joinable()) stage.thread.join();
}

void ReductionPipeline::start(BucketReduction reduction) { push(0, std::move(reduction)); }

void ReductionPipeline::push(size_t level, BucketReduction reduction) {
  {
    const std::lock_guard lock(mutex_);
    stages_[level].arriving.push_back(std::move(reduction));
    stages_[level].called = true;
    stages_[level].changed.notify_one();
  }
  levels_[level]->wake();
}

std::deque<BucketReduction> ReductionPipeline::take(size_t level, bool under_way) {
  Stage& stage = stages_[level];
  std::unique_lock lock(mutex_);
  const auto called = [&] { return given_up_ || under_way || !stage.arriving.empty(); };
  while (!called()) {
    // On streams a sum may fail long after `wait`, while other ranks wait for it there.
    lock.unlock();
    const bool is_at_work = levels_[level]->is_at_work();
    lock.lock();
    if (is_at_work)
      stage.changed.wait_for(lock, kSlice, called);
    else
      stage.changed.wait(lock, called);
  }
  stage.called = given_up_.load();
  return std::exchange(stage.arriving, {});
}

void ReductionPipeline::work(size_t level) {
  try {
    reduce_all(level);
  } catch (...) {
    failed_(std::current_exception());
  }
  levels_[level]->end();
}

void ReductionPipeline::reduce_all(size_t number) {
  Level& level = *levels_[number];
  const DeviceStreams& streams = level.streams();
  struct Started {
    std::unique_ptr<Level::Request> request;
    double at;
  };
  std::deque<Started> under_way;
  double free_from = 0;
  // Sums are the same bits whichever thread makes them.
  streams.backend(0).use_threads(1);
  while (!given_up_) {
    for (BucketReduction& reduction : take(number, !under_way.empty())) {
      const double at = AveragingSpans::now();
      for (size_t device = 0; device < streams.devices(); ++device) {
        const UsedStream used = streams.use(device);
        streams.backend(device).queue_after(reduction.parts[device].ready);
      }
      under_way.push_back({level.start(std::move(reduction)), at});
    }
    if (under_way.empty()) continue;
    // What comes meanwhile is started at once, so that a level between processes never idles.
    if (!level.wait(*under_way.front().request, stages_[number].called)) continue;
    const Started oldest = std::move(under_way.front());
    under_way.pop_front();
    BucketReduction& reduction = oldest.request->reduction;
    for (size_t device = 0; device < streams.devices(); ++device) {
      const UsedStream used = streams.use(device);
      reduction.parts[device].ready = streams.backend(device).mark();
    }
    // The spans of reductions that overlap follow one another, in the order of their ends.
    const double end = AveragingSpans::now();
    const double begin = std::max(oldest.at, free_from);
    spans_.record({static_cast<int64_t>(number), reduction.round, begin, end});
    if (level.joins_hosts()) exchange_seconds_ = exchange_seconds_ + end - begin;
    free_from = end;
    if (number + 1 < levels_.size())
      push(number + 1, std::move(reduction));
    else
      reduced_(reduction);
  }
}

}  // namespace arbalest
