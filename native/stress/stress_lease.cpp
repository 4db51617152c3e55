// Jobs that take turns on a device: no two compute in each other's turns, each gets its turns, and none waits for one that has gone. The
// same over several hosts, which have their turns in one order.
#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "device/lease_user.h"
#include "harness.h"
#include "transport/lease_messages.h"
#include "transport/threads_link.h"

namespace arbalest::stress {
namespace {

constexpr std::chrono::milliseconds kTurn{2};

struct Shared {
  explicit Shared(std::vector<double> shares) : lease(std::make_shared<DeviceLease>(shares)), computing(shares.size()) {}

  const std::shared_ptr<DeviceLease> lease;
  std::vector<std::atomic<int>> computing;  // learners of each job
};

void learn(Shared& shared, int job, uint64_t seed, int steps) {
  Chance chance(seed);
  while (steps > 0) {
    LeaseUser user(shared.lease, job);
    int64_t round = 0;
    // Now and then another learner comes in its place.
    for (int64_t left = chance.between(1, 20); left > 0 && steps > 0; --left) {
      const std::atomic<bool> cancelled{chance.one_in(8)};
      std::vector<std::shared_ptr<Event>> before;
      user.begin_call();
      if (user.take(round++, Clock::now() + kTurn, cancelled, before)) {
        ++shared.computing[static_cast<size_t>(job)];
        for (size_t other = 0; other < shared.computing.size(); ++other)
          expect(other == static_cast<size_t>(job) || shared.computing[other] == 0, "two jobs compute at once");
        if (chance.one_in(2)) std::this_thread::yield();
        --shared.computing[static_cast<size_t>(job)];
        if (chance.one_in(16))
          user.rest();
        else
          user.give_back(nullptr);
        --steps;
      } else if (chance.one_in(2)) {
        user.rest();
      }
      user.end_call();
    }
  }
}

// Jobs over several hosts, each with a learner on every host, whose rounds end once the learners of all hosts have computed. The first host
// changes the order of turns meanwhile; learners die and others come in their place; a host may go.
class Hosts {
 public:
  Hosts(Chance& chance, std::string name)
      : name_(std::move(name)), hosts_(static_cast<size_t>(chance.between(2, 3))), jobs_(static_cast<size_t>(chance.between(2, 3))) {
    for (size_t host = 0; host < hosts_; ++host) {
      leases_.push_back(std::make_unique<Shared>(std::vector<double>(jobs_, 1)));
      seeds_.push_back(static_cast<uint64_t>(chance.between(0, 1 << 30)));
    }
    // Then no two jobs compute at once.
    stays_crossed_ = chance.one_in(2);
    if (!stays_crossed_ && chance.one_in(2)) {
      lost_ = static_cast<size_t>(chance.between(0, static_cast<int64_t>(hosts_) - 1));
      shrinks_ = chance.one_in(2);
    }
    done_.assign(jobs_, std::vector<int>(hosts_, -1));
  }

  void run(Chance& chance) {
    std::vector<std::thread> threads;
    for (size_t host = 0; host < hosts_; ++host) threads.emplace_back([this, host] { run(host); });
    while (!is_over()) {
      std::this_thread::sleep_for(std::chrono::microseconds(chance.between(0, 5000)));
      if (chance.one_in(3)) leases_.front()->lease->set_turns(turns(chance));
    }
    over_.count_down();
    for (std::thread& thread : threads) thread.join();
  }

 private:
  static constexpr int kRounds = 30;
  static constexpr double kDeadline = 60;

  DeviceLease::Turns turns(Chance& chance) const {
    DeviceLease::Turns turns;
    turns.mode = !stays_crossed_ && chance.one_in(4) ? DeviceLease::Turns::Mode::shared : DeviceLease::Turns::Mode::crossed;
    for (int64_t place = chance.between(0, 1) * static_cast<int64_t>(jobs_); place > 0; --place)
      turns.order.push_back(static_cast<int>(place - 1));
    return turns;
  }

  void run(size_t host) {
    Chance chance(seeds_[host]);
    const auto link = std::make_shared<HostsThread>(
        [&] { return std::make_unique<ThreadsLink>(name_, static_cast<int>(host), static_cast<int>(hosts_), shrinks_); }, kDeadline);
    const LeaseMessages messages(link, *leases_[host]->lease);
    std::vector<std::thread> learners;
    for (size_t job = 0; job < jobs_; ++job)
      learners.emplace_back([this, host, job, seed = static_cast<uint64_t>(chance.between(0, 1 << 30))] { learn(host, job, seed); });
    if (host == lost_) {
      std::this_thread::sleep_for(std::chrono::microseconds(chance.between(0, 20'000)));
      has_gone_ = true;
      link->abort(1);
    }
    for (std::thread& learner : learners) learner.join();
    ++ended_;
    // A lease and its messages go together.
    over_.wait();
  }

  void learn(size_t host, size_t job, uint64_t seed) {
    Chance chance(seed);
    auto user = std::make_unique<LeaseUser>(leases_[host]->lease, static_cast<int>(job));
    for (int round = 0; round < kRounds && !has_left(host); ++round) {
      if (chance.one_in(10))
        user = std::make_unique<LeaseUser>(leases_[host]->lease, static_cast<int>(job));  // the one before has brought nothing
      else if (!compute(host, job, round, *user, chance))
        return;
      finish(host, job, round);
      while (!is_whole(job, round) && !has_left(host)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  bool compute(size_t host, size_t job, int round, LeaseUser& user, Chance& chance) {
    const std::atomic<bool> cancelled{false};
    while (!has_left(host)) {
      std::vector<std::shared_ptr<Event>> before;
      user.begin_call();
      const bool has = user.take(round, Clock::now() + kTurn, cancelled, before);
      if (has) {
        std::atomic<int>& computing = leases_[host]->computing[job];
        ++computing;
        for (size_t other = 0; other < jobs_; ++other)
          expect(other == job || !stays_crossed_ || leases_[host]->computing[other] == 0, "two jobs compute at once on a host");
        if (chance.one_in(2)) std::this_thread::yield();
        --computing;
        user.give_back(nullptr);
      }
      user.end_call();
      if (has) return true;
      if (chance.one_in(8)) std::this_thread::sleep_for(std::chrono::microseconds(chance.between(0, 3000)));
    }
    return false;
  }

  void finish(size_t host, size_t job, int round) {
    const std::lock_guard lock(mutex_);
    done_[job][host] = round;
  }

  // Those that have gone bring nothing.
  bool is_whole(size_t job, int round) {
    const std::lock_guard lock(mutex_);
    for (size_t host = 0; host < hosts_; ++host)
      if (!has_left(host) && done_[job][host] < round) return false;
    return true;
  }

  bool has_left(size_t host) const { return host == lost_ && has_gone_; }
  bool is_over() const { return ended_ == static_cast<int>(hosts_); }

  const std::string name_;
  const size_t hosts_, jobs_;
  std::vector<std::unique_ptr<Shared>> leases_;  // by host
  std::vector<uint64_t> seeds_;
  size_t lost_ = SIZE_MAX;
  bool stays_crossed_ = false, shrinks_ = false;
  std::atomic<bool> has_gone_{false};
  std::atomic<int> ended_{0};
  std::latch over_{1};
  std::mutex mutex_;
  std::vector<std::vector<int>> done_;  // the last round that each host has ended, by job
};

}  // namespace

void run(Backend&, Chance& chance) {
  static std::atomic<int> links{0};
  if (chance.one_in(3)) {
    Hosts(chance, "lease " + std::to_string(links++)).run(chance);
    return;
  }
  std::vector<double> shares;
  for (int64_t jobs = chance.between(2, 3); jobs > 0; --jobs) shares.push_back(static_cast<double>(chance.between(1, 3)));
  Shared shared(shares);
  // In every other trial a job waits that is ahead.
  if (chance.one_in(2)) shared.lease->set_turns({.counts = shares});
  std::vector<std::thread> threads;
  for (int job = 0; job < shared.lease->jobs(); ++job)
    for (int64_t learner = chance.between(1, 3); learner > 0; --learner)
      threads.emplace_back([&shared, job, seed = static_cast<uint64_t>(chance.between(0, 1 << 30))] { learn(shared, job, seed, 100); });
  for (std::thread& thread : threads) thread.join();
  for (const DeviceLease::Figures& figures : shared.lease->figures()) expect(figures.turns > 0, "a job had no turn");
}

}  // namespace arbalest::stress
