#include "device/device_lease.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "core/error.h"
#include "device/lease_user.h"

namespace arbalest {
namespace {

using Mode = DeviceLease::Turns::Mode;

constexpr std::chrono::milliseconds kMostIdle{50};
constexpr size_t kMostSpans = 65536;
// Rounds of the job whose rounds count most, by which a job may be ahead: jobs whose exchanges vary do not wait for each other.
constexpr double kLead = 2;

void check_job(int job, size_t jobs) {
  if (job < 0 || static_cast<size_t>(job) >= jobs)
    throw Error("INVALID_OPTION", "job: received " + std::to_string(job) + "; give a number from 0 to below " + std::to_string(jobs));
}

}  // namespace

DeviceLease::DeviceLease(std::span<const double> shares) : jobs_(shares.size()) {
  if (shares.empty()) throw Error("INVALID_OPTION", "share: received none; give one for each job");
  set_shares(shares);
}

void DeviceLease::set_shares(std::span<const double> shares) {
  if (shares.size() != jobs_.size())
    throw Error("INVALID_OPTION", "share: received " + std::to_string(shares.size()) + "; give one for each of the " +
                                      std::to_string(jobs_.size()) + " jobs");
  for (double share : shares)
    if (!(share > 0 && share <= 1e6))
      throw Error("INVALID_OPTION", "share: received " + std::to_string(share) + "; give numbers above 0, up to 1000000");
  const std::lock_guard lock(mutex_);
  for (size_t job = 0; job < shares.size(); ++job) {
    jobs_[job].share = shares[job];
    // Time by other shares does not count.
    jobs_[job].served = served_ = 0;
  }
}

void DeviceLease::set_turns(Turns turns) {
  if (turns.mode == Mode::alone) check_job(turns.job, jobs_.size());
  for (int job : turns.order) check_job(job, jobs_.size());
  if (!turns.counts.empty() && turns.counts.size() != jobs_.size())
    throw Error("INVALID_OPTION", "counts: received " + std::to_string(turns.counts.size()) + "; give one for each of the " +
                                      std::to_string(jobs_.size()) + " jobs");
  for (double count : turns.counts)
    if (!(count > 0 && std::isfinite(count)))
      throw Error("INVALID_OPTION", "counts: received " + std::to_string(count) + "; give numbers above 0");
  const std::lock_guard lock(mutex_);
  turns_ = std::move(turns);
  place_ = 0;
  for (Job& job : jobs_) job.counted = 0;
  lead_ = turns_.counts.empty() ? 0 : kLead * *std::ranges::max_element(turns_.counts);
  if (turns_.mode == Mode::shared) {
    if (holder_ >= 0) end_turn();
    tell(-1, 0);
  }
  begin_turn();
  wake_all();
}

void DeviceLease::await_hosts(std::function<void(const TurnMessage&)> tell) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
  follows_ = true;
}

void DeviceLease::lead_hosts() {
  const std::lock_guard lock(mutex_);
  follows_ = false;
  if (turns_.mode == Mode::shared) tell(-1, 0);
  begin_turn();
  wake_all();
}

void DeviceLease::leave_hosts() {
  const std::lock_guard lock(mutex_);
  tell_ = nullptr;
  follows_ = false;
  messages_.clear();
  turns_ = {.mode = Mode::shared};
  if (holder_ >= 0) end_turn();
  wake_all();
}

void DeviceLease::told(const TurnMessage& message) {
  const std::lock_guard lock(mutex_);
  if (message.job >= jobs()) return;
  if (follows_) {
    if (messages_.empty()) message_from_ = Clock::now();
    messages_.push_back(message);
    begin_turn();
    return;
  }
  // Learners of another host wait for a turn of which none here has need, as where its learner has died.
  const Job& job = jobs_[static_cast<size_t>(message.job)];
  const bool has_turns = turns_.mode == Mode::crossed || (turns_.mode == Mode::alone && message.job == turns_.job);
  const auto needs_turn = [&](const LeaseUser* user) { return user->computed_ < message.round; };
  if (has_turns && std::ranges::none_of(job.present, needs_turn)) tell(message.job, message.round);
}

void DeviceLease::tell(int64_t job, int64_t round) const {
  if (tell_ && !follows_) tell_({round, job});
}

void DeviceLease::wake_all() {
  for (const Job& job : jobs_)
    for (LeaseUser* const user : job.present)
      if (user->waits_) user->changed_.notify_one();
}

bool DeviceLease::all_at_once() const { return follows_ ? told_all_ : turns_.mode == Mode::shared; }

std::vector<DeviceLease::Figures> DeviceLease::figures() const {
  const std::lock_guard lock(mutex_);
  std::vector<Figures> all;
  for (const Job& job : jobs_) all.push_back(job.figures);
  if (holder_ >= 0) all[static_cast<size_t>(holder_)].seconds += seconds_since(turn_from_);
  return all;
}

std::vector<DeviceLease::Span> DeviceLease::spans(int job) {
  check_job(job, jobs_.size());
  const std::lock_guard lock(mutex_);
  Job& of = jobs_[static_cast<size_t>(job)];
  of.records = true;
  return std::exchange(of.spans, {});
}

int DeviceLease::holder() const {
  const std::lock_guard lock(mutex_);
  return holder_;
}

DeviceLease::Job& DeviceLease::job_of(const LeaseUser& user) { return jobs_[static_cast<size_t>(user.job_)]; }

bool DeviceLease::is_asked_for(const Job& job) const {
  return std::ranges::any_of(job.present, [](const LeaseUser* user) { return user->waits_; });
}

// Of the jobs that have learners here: the others count nothing.
bool DeviceLease::is_ahead(const Job& job) const {
  if (turns_.counts.empty()) return false;
  return std::ranges::any_of(jobs_, [&](const Job& other) { return !other.present.empty() && other.counted + lead_ < job.counted; });
}

void DeviceLease::count_round(Job& job) {
  if (turns_.counts.empty()) return;
  job.counted += turns_.counts[static_cast<size_t>(&job - jobs_.data())];
  // Another job may have waited for this one.
  begin_turn();
  wake_all();
}

bool DeviceLease::is_granted(const LeaseUser& user) const {
  if (all_at_once()) return follows_ || user.evaluates() || !is_ahead(jobs_[static_cast<size_t>(user.job_)]);
  return holder_ == user.job_ && std::ranges::count(computing_, &user) > 0;
}

void DeviceLease::appear(LeaseUser& user) {
  Job& job = job_of(user);
  // A job that was away has not saved time for later, and may begin again at an earlier round.
  if (job.present.empty()) {
    if (!user.evaluates()) {
      job.round = std::min(job.round, user.round_ - 1);
      job.told = std::min(job.told, user.round_ - 1);
    }
    job.served = std::max(job.served, served_);
    double least = std::numeric_limits<double>::infinity();
    for (const Job& other : jobs_)
      if (!other.present.empty()) least = std::min(least, other.counted);
    if (std::isfinite(least)) job.counted = std::max(job.counted, least);
  }
  job.present.push_back(&user);
  job.rests = false;
  user.present_ = true;
  // Of learners those join the turn that are late to its round.
  if (holder_ == user.job_ && (user.evaluates() ? round_ < 0 : user.round_ <= round_)) computing_.push_back(&user);
}

// Null as long as the job whose turn it is has not asked for it.
DeviceLease::Job* DeviceLease::next_in_order() {
  for (size_t i = 0; i < turns_.order.size(); ++i) {
    const size_t place = (place_ + i) % turns_.order.size();
    Job& job = jobs_[static_cast<size_t>(turns_.order[place])];
    if (job.rests) continue;
    if (!is_asked_for(job)) return nullptr;
    place_ = (place + 1) % turns_.order.size();
    return &job;
  }
  return nullptr;
}

DeviceLease::Job* DeviceLease::least_served() {
  const auto had = [this](const Job& job) { return turns_.counts.empty() ? job.served : job.counted; };
  Job* least = nullptr;
  for (Job& job : jobs_)
    if (is_asked_for(job) && !is_ahead(job) && (!least || had(job) < had(*least))) least = &job;
  return least;
}

void DeviceLease::begin_turn() {
  if (holder_ >= 0) return;
  if (follows_) return begin_told_turn();
  if (turns_.mode == Mode::shared) return;
  Job* next = nullptr;
  if (turns_.mode == Mode::alone) {
    Job& job = jobs_[static_cast<size_t>(turns_.job)];
    if (job.present.empty())
      next = least_served();
    else if (is_asked_for(job))
      next = &job;
  } else {
    next = turns_.order.empty() ? least_served() : next_in_order();
  }
  if (!next) return;
  int64_t round = std::numeric_limits<int64_t>::max();
  for (const LeaseUser* const user : next->present)
    if (user->waits_ && !user->evaluates()) round = std::min(round, user->round_);
  begin_turn_of(*next, round == std::numeric_limits<int64_t>::max() ? -1 : round);
}

// The job's learners compute this round; with -1, its evaluators measure.
void DeviceLease::begin_turn_of(Job& job, int64_t round) {
  holder_ = static_cast<int>(&job - jobs_.data());
  turn_from_ = Clock::now();
  served_ = job.served;
  round_ = round;
  // A learner that is ahead may wait for the others: they must not wait for it.
  std::ranges::copy_if(job.present, std::back_inserter(computing_),
                       [round](const LeaseUser* user) { return user->evaluates() ? round < 0 && user->waits_ : user->computed_ < round; });
  tell(holder_, round);
  for (LeaseUser* const user : computing_)
    if (user->waits_) user->changed_.notify_one();
}

// The next of the turns that the first host has told.
void DeviceLease::begin_told_turn() {
  // Learners that come after the turn which they should have had.
  for (Job& job : jobs_)
    for (const LeaseUser* const user : job.present)
      if (!told_all_ && user->waits_ && user->round_ <= job.told) return begin_turn_of(job, user->round_);
  for (; !messages_.empty(); messages_.pop_front(), message_from_ = Clock::now()) {
    const TurnMessage& message = messages_.front();
    told_all_ = message.job < 0;
    if (told_all_) continue;
    Job& job = jobs_[static_cast<size_t>(message.job)];
    const auto has_come = [&](const LeaseUser* user) { return user->waits_ && user->round_ <= message.round; };
    const auto will_come = [&](const LeaseUser* user) { return user->computed_ < message.round && !user->waits_; };
    const bool begins = std::ranges::any_of(job.present, has_come);
    if (!begins && std::ranges::any_of(job.present, will_come)) return;
    // All of its learners rest, or have yet to begin.
    if (job.present.empty() && Clock::now() < message_from_ + kMostIdle) return;
    job.told = std::max(job.told, message.round);
    if (!begins) continue;
    begin_turn_of(job, message.round);
    messages_.pop_front();
    message_from_ = Clock::now();
    return;
  }
  if (told_all_) wake_all();
}

void DeviceLease::end_turn() {
  Job& job = jobs_[static_cast<size_t>(holder_)];
  const double seconds = seconds_since(turn_from_);
  job.served += seconds / job.share;
  job.figures.seconds += seconds;
  ++job.figures.turns;
  if (job.records) {
    if (job.spans.size() == kMostSpans) job.spans.erase(job.spans.begin(), job.spans.begin() + kMostSpans / 2);
    job.spans.push_back({on_clock(turn_from_), on_clock(turn_from_) + seconds});
  }
  holder_ = -1;
  computing_.clear();
  before_ = std::exchange(done_, {});
}

void DeviceLease::give_back(LeaseUser& user, std::shared_ptr<Event> done) {
  // The learner may have begun while all jobs computed at any time.
  if (holder_ != user.job_ || std::erase(computing_, &user) == 0) return begin_turn();
  if (done) done_.push_back(std::move(done));
  if (!computing_.empty()) return;
  end_turn();
  begin_turn();
}

void DeviceLease::leave(LeaseUser& user) {
  user.has_ = false;
  if (!user.present_) return;
  user.present_ = user.waits_ = false;
  Job& job = job_of(user);
  std::erase(job.present, &user);
  job.rests = job.present.empty();
  give_back(user, nullptr);
  // Another job's turn may have waited for this job to ask for its own, or to make a step.
  begin_turn();
  if (!turns_.counts.empty()) wake_all();
}

// A learner whose thread does something else, or has ended without a word, holds up no other job for long.
void DeviceLease::drop_idle() {
  const Clock::time_point latest = Clock::now() - kMostIdle;
  std::vector<LeaseUser*> idle;
  for (const Job& job : jobs_)
    for (LeaseUser* const user : job.present)
      if (user->idle_from_ && *user->idle_from_ < latest) idle.push_back(user);
  for (LeaseUser* const user : idle) leave(*user);
}

}  // namespace arbalest
