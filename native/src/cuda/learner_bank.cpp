#include "cuda/learner_bank.h"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/condition_variable.h"
#include "core/error.h"
#include "cuda/device_backend.h"

namespace arbalest::cuda {
namespace {

// Of this process.
struct Counts {
  std::mutex mutex;
  BankReport report;
};

Counts& counts() {
  // Never destroyed: when the process ends, learners of other threads may still be at work.
  static auto* const counts = new Counts;
  return *counts;
}

void count_steps(size_t learners) {
  const std::lock_guard lock(counts().mutex);
  counts().report.steps += static_cast<int64_t>(learners);
}

void count_aside() {
  const std::lock_guard lock(counts().mutex);
  ++counts().report.aside;
}

void count_refusal(const std::string& why) {
  const std::lock_guard lock(counts().mutex);
  ++counts().report.refusals;
  counts().report.refusal = why;
}

// How long a learner waits for the others: this many of its own steps, but between the two bounds, in seconds.
constexpr double kStepsOfPatience = 4, kLeastPatience = 5e-3, kMostPatience = 1;
// A learner that has not taken a step here yet does not know how long its steps are.
constexpr double kFirstPatience = 0.1;

// Where a recording ends so, learners run by themselves: they need less memory at once, and know what cannot be recorded.
bool leaves_learners_alone(const Error& error) { return error.code() == "OUT_OF_MEMORY" || error.code() == "UNSUPPORTED_OPERATOR"; }

}  // namespace

BankReport bank_report() {
  const std::lock_guard lock(counts().mutex);
  return counts().report;
}

// A learner's place in a bank.
class Seat final : public Recording {
 public:
  Seat(std::shared_ptr<LearnerBank> bank, LaunchList launches, std::unique_ptr<Recording> alone)
      : bank_(std::move(bank)), launches_(std::move(launches)), alone_(std::move(alone)) {}
  ~Seat() override;
  double run() override;
  const LaunchList& launches() const { return launches_; }

  // Seconds for which it waits for others when it comes.
  double patience() const {
    return left_ ? std::clamp(kStepsOfPatience * seconds_since(*left_), kLeastPatience, kMostPatience) : kFirstPatience;
  }

 private:
  const std::shared_ptr<LearnerBank> bank_;
  const LaunchList launches_;
  const std::unique_ptr<Recording> alone_;
  std::optional<Clock::time_point> left_;  // when its last step was queued
};

class LearnerBank {
 public:
  LearnerBank(DeviceBackend& backend, const void* company, size_t most) : backend_(backend), company_(company), most_(most) {}

  // Whether a learner with these launches may take a seat.
  bool takes(const void* company, size_t most, const LaunchList& launches) {
    const std::lock_guard lock(mutex_);
    if (company != company_ || most != most_ || seats_.size() >= most_) return false;
    if (seats_.empty()) return true;
    return std::ranges::equal(launches, seats_.front()->launches(), [](const auto& one, const auto& other) {
      return one->may_leave == other->may_leave && one->is_like(*other);
    });
  }
  void enter(const Seat& seat) {
    const std::lock_guard lock(mutex_);
    seats_.push_back(&seat);
  }
  void leave(const Seat& seat) {
    const std::lock_guard lock(mutex_);
    std::erase(seats_, &seat);
    std::erase(coming_, &seat);
    // A later seat may have its address.
    refused_.clear();
    if (std::erase(expected_, &seat) > 0) recording_.reset();
    // The learners that wait may now be complete.
    changed_.notify_all();
  }

  // Queues the step of all learners that are expected, once they have come, and lets the calling thread's stream wait for its end. False
  // where the learner has to run alone. Throws the errors of the step, to all of its learners.
  bool run(const Seat& seat) {
    std::unique_lock lock(mutex_);
    if (arrivals_.empty()) expect_those_who_come();
    if (!has(expected_, seat)) {
      if (!has(coming_, seat)) coming_.push_back(&seat);
      return false;
    }
    Arrival arrival(*this, seat);
    const Clock::time_point deadline = after(Clock::now(), 1e3 * seat.patience());
    while (!arrival.over && expected_.size() > 1) {
      if (arrivals_.size() == expected_.size())
        step();
      else if (Clock::now() < deadline)
        changed_.wait_until(lock, deadline);
      else
        expect_those_who_are_here();
    }
    if (arrival.failure) std::rethrow_exception(arrival.failure);
    if (!arrival.end) return false;
    lock.unlock();
    backend_.queue_after(arrival.end);
    return true;
  }

 private:
  // A learner that waits, while this object lives.
  struct Arrival {
    Arrival(LearnerBank& bank_, const Seat& seat_) : bank(bank_), seat(&seat_), begin(bank_.backend_.mark()) {
      bank.arrivals_.push_back(this);
    }
    // The bank is locked, or the step is over.
    ~Arrival() {
      if (!over) std::erase(bank.arrivals_, this);
    }
    LearnerBank& bank;
    const Seat* const seat;
    const std::shared_ptr<Event> begin;  // its learner's earlier work is done
    bool over = false;                   // the step has been queued, has failed, or is each learner's own
    std::shared_ptr<Event> end;          // of the step that was queued
    std::exception_ptr failure;
  };

  static bool has(const std::vector<const Seat*>& some, const Seat& seat) { return std::ranges::find(some, &seat) != some.end(); }

  void expect_those_who_come() {
    if (coming_.empty()) return;
    expected_.insert(expected_.end(), coming_.begin(), coming_.end());
    coming_.clear();
    recording_.reset();
  }
  void expect_those_who_are_here() {
    expected_.clear();
    for (const Arrival* each : arrivals_) expected_.push_back(each->seat);
    recording_.reset();
  }

  void step() {
    std::shared_ptr<Event> end;
    std::exception_ptr failure;
    try {
      if (!stream_) stream_ = backend_.stream();
      const UsedStream used(backend_, stream_.get());
      if (!recording_) recording_ = record();
      if (recording_) {
        for (const Arrival* each : arrivals_) backend_.queue_after(each->begin);
        recording_->run();
        end = backend_.mark();
        count_steps(arrivals_.size());
      }
    } catch (...) {
      failure = std::current_exception();
    }
    for (Arrival* each : arrivals_) {
      each->over = true;
      each->end = end;
      each->failure = failure;
    }
    arrivals_.clear();
    changed_.notify_all();
  }

  // Null where these learners have to run alone; it is tried again when they are others.
  std::unique_ptr<Recording> record() {
    if (refused_ == expected_) return nullptr;
    auto& stream = static_cast<DeviceStream&>(*stream_);
    try {
      return backend_.record(stream, [&] {
        for (size_t i = 0, end; i < expected_.front()->launches().size(); i = end) {
          end = end_of_work(i);
          if (end > i)
            queue_work(i, end, stream);
          else
            queue_kernels(end++, stream);
        }
      });
    } catch (const Error& error) {
      if (!leaves_learners_alone(error)) throw;
      count_refusal(error.what());
      refused_ = expected_;
      return nullptr;
    }
  }

  // Of the i-th launch, by learners.
  std::vector<const Accesses*> accesses(size_t i) const {
    std::vector<const Accesses*> found;
    for (const Seat* seat : expected_) found.push_back(seat->launches()[i]->accesses);
    return found;
  }

  void queue_kernels(size_t i, DeviceStream& stream) const {
    std::vector<const KeptKernel*> kernels;
    for (const Seat* seat : expected_) kernels.push_back(static_cast<const KeptKernel*>(seat->launches()[i].get()));
    const bool may_leave = kernels.front()->may_leave;
    if (may_leave) count_aside();
    stream.side_branch().queue(accesses(i), may_leave, [&] { kernels.front()->queue(kernels, stream); });
  }

  // Where the launches from `begin` on end that only the learners' own streams can queue.
  size_t end_of_work(size_t begin) const {
    const LaunchList& launches = expected_.front()->launches();
    size_t end = begin;
    while (end < launches.size() && dynamic_cast<const KeptWork*>(launches[end].get())) ++end;
    return end;
  }

  // A branch a learner for all of them: the learners meet once, and not after each.
  void queue_work(size_t begin, size_t end, DeviceStream& stream) const {
    std::vector<DeviceStream::Branch> branches;
    for (const Seat* seat : expected_) {
      const auto work = [seat](size_t i) -> const KeptWork& { return static_cast<const KeptWork&>(*seat->launches()[i]); };
      branches.push_back({work(begin).stream(), [work, begin, end] {
                            for (size_t i = begin; i < end; ++i) work(i).queue();
                          }});
    }
    for (size_t i = begin; i < end; ++i) stream.side_branch().queue(accesses(i), false, [] {});
    stream.run_branches(branches);
  }

  DeviceBackend& backend_;
  const void* const company_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const Seat*> seats_;
  std::vector<const Seat*> expected_;  // who are waited for
  std::vector<const Seat*> coming_;    // who have run alone, and are waited for from the next step on
  std::vector<Arrival*> arrivals_;     // of those who are expected
  std::vector<const Seat*> refused_;   // for whom no recording could be made
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Recording> recording_;  // of those who are expected
};

Seat::~Seat() { bank_->leave(*this); }

double Seat::run() {
  const Clock::time_point came = Clock::now();
  const bool together = bank_->run(*this);
  const double waited = seconds_since(came);
  if (!together) alone_->run();
  left_ = Clock::now();
  return waited;
}

LearnerBanks::~LearnerBanks() = default;

std::unique_ptr<Recording> LearnerBanks::seat(const void* company, size_t most, LaunchList launches, std::unique_ptr<Recording> alone) {
  const std::lock_guard lock(mutex_);
  std::erase_if(banks_, [](const auto& bank) { return bank.expired(); });
  std::shared_ptr<LearnerBank> found;
  for (const auto& each : banks_) {
    auto bank = each.lock();
    if (bank && bank->takes(company, most, launches)) found = std::move(bank);
    if (found) break;
  }
  if (!found) banks_.push_back(found = std::make_shared<LearnerBank>(backend_, company, most));
  auto seat = std::make_unique<Seat>(found, std::move(launches), std::move(alone));
  found->enter(*seat);
  return seat;
}

}  // namespace arbalest::cuda
