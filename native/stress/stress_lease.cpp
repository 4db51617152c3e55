// Jobs that take turns on a device: no two compute in each other's turns, each gets its turns, and none waits for one that has gone.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "device/lease_user.h"
#include "harness.h"

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

}  // namespace

void run(Backend&, Chance& chance) {
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
