#include "replica/step_pull.h"

#include <algorithm>

namespace arbalest {
namespace {

// Adds the time of a call to that which the step has waited.
class Waited {
 public:
  explicit Waited(RunReport& report) : report_(report) {}
  ~Waited() { report_.wait_seconds += seconds_since(from_); }

 private:
  RunReport& report_;
  const Clock::time_point from_ = Clock::now();
};

}  // namespace

void StepPull::begin(const Ticket& ticket, bool by_bucket) {
  missing_.assign(ticket.pulls ? group_->pulled_buckets().size() : 0, true);
  by_bucket_ = by_bucket;
}

Outcome StepPull::open(const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled, RunReport& report) {
  return by_bucket_ ? Outcome::done : take_all(ticket, deadline, cancelled, report);
}

Outcome StepPull::take(const Ticket& ticket, std::span<const size_t> buckets, Clock::time_point deadline,
                       const std::atomic<bool>& cancelled, RunReport& report) {
  if (missing_.empty() || buckets.empty()) return Outcome::done;
  const Waited waited(report);
  for (const size_t bucket : buckets)
    if (const Outcome outcome = take(ticket, bucket, deadline, cancelled); outcome != Outcome::done) return outcome;
  return Outcome::done;
}

Outcome StepPull::take_all(const Ticket& ticket, Clock::time_point deadline, const std::atomic<bool>& cancelled, RunReport& report) {
  if (missing_.empty()) return Outcome::done;
  const Waited waited(report);
  for (size_t bucket = 0; bucket < missing_.size(); ++bucket)
    if (const Outcome outcome = take(ticket, bucket, deadline, cancelled); outcome != Outcome::done) return outcome;
  missing_.clear();
  return Outcome::done;
}

Outcome StepPull::take(const Ticket& ticket, size_t bucket, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  if (!missing_[bucket]) return Outcome::done;
  const Outcome outcome = group_->acquire(learner_, ticket, bucket, memory_.vectors(), deadline, cancelled);
  if (outcome == Outcome::done) missing_[bucket] = false;
  return outcome;
}

}  // namespace arbalest
