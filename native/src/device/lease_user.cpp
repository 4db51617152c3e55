#include "device/lease_user.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

#include "core/error.h"

namespace arbalest {
namespace {

// A waiting learner looks so often whether it is cancelled, and whether another one holds it up that has gone.
constexpr std::chrono::milliseconds kSlice{25};
// A turn that the first host has not told by then is asked for.
constexpr std::chrono::milliseconds kPatience{100};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

LeaseUser::LeaseUser(std::shared_ptr<DeviceLease> lease, int job, Kind kind) : lease_(std::move(lease)), job_(job), kind_(kind) {
  if (job < 0 || job >= lease_->jobs())
    throw Error("INVALID_OPTION",
                "job: received " + std::to_string(job) + "; give a number from 0 to below " + std::to_string(lease_->jobs()));
}

bool LeaseUser::take(int64_t round, Clock::time_point deadline, const std::atomic<bool>& cancelled,
                     std::vector<std::shared_ptr<Event>>& after) {
  if (has_) return true;
  const double processor = processor_seconds();
  std::unique_lock lock(lease_->mutex_);
  round_ = round;
  computed_ = std::min(computed_, round - 1);
  if (!present_) lease_->appear(*this);
  const Clock::time_point from = Clock::now();
  waits_ = true;
  lease_->begin_turn();
  has_ = wait_for_turn(lock, deadline, cancelled);
  waits_ = false;
  DeviceLease::Figures& figures = lease_->job_of(*this).figures;
  if (!evaluates()) figures.waited += seconds_since(from);
  if (has_) {
    figures.overhead += seconds_since(lease_->holder_ == job_ ? std::max(from, lease_->turn_from_) : from);
    after.insert(after.end(), lease_->before_.begin(), lease_->before_.end());
  }
  figures.processor += processor_seconds() - processor;
  return has_;
}

bool LeaseUser::wait_for_turn(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (!waits_from_) waits_from_ = Clock::now();
  while (!lease_->is_granted(*this)) {
    if (cancelled.load(std::memory_order_relaxed)) return false;
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return false;
    changed_.wait_until(lock, std::min(deadline, now + kSlice));
    lease_->drop_idle();
    lease_->begin_turn();
    if (lease_->follows_ && lease_->holder_ < 0 && !evaluates() && Clock::now() >= *waits_from_ + kPatience) {
      waits_from_ = Clock::now();
      lease_->tell_({round_, job_});
    }
  }
  waits_from_.reset();
  return true;
}

void LeaseUser::give_back(std::shared_ptr<Event> done, double exchanged) {
  const Clock::time_point from = Clock::now();
  const double processor = processor_seconds();
  const std::lock_guard lock(lease_->mutex_);
  if (!has_.exchange(false)) return;
  DeviceLease::Job& job = lease_->job_of(*this);
  computed_ = round_;
  const bool first = round_ > job.round;
  if (first) {
    job.round = round_;
    ++job.figures.rounds;
    job.figures.last = on_clock(Clock::now());
    job.figures.exchanged = exchanged;
  }
  lease_->give_back(*this, std::move(done));
  if (first) lease_->count_round(job);
  job.figures.overhead += seconds_since(from);
  job.figures.processor += processor_seconds() - processor;
}

void LeaseUser::rest() {
  const std::lock_guard lock(lease_->mutex_);
  lease_->leave(*this);
}

void LeaseUser::begin_call() {
  const std::lock_guard lock(lease_->mutex_);
  idle_from_.reset();
}

void LeaseUser::end_call() {
  const std::lock_guard lock(lease_->mutex_);
  idle_from_ = Clock::now();
}

}  // namespace arbalest
