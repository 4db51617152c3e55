// Values that are moved while others are computed: what comes back is what was stored, whenever transfers run, and after a step that was
// given up no transfer touches memory that another learner has been lent.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/transfers.h"
#include "cpu/reference/reference.h"
#include "device/activation_arenas.h"
#include "harness.h"

namespace arbalest::stress {
namespace {

constexpr size_t kValues = 6, kBytes = kTransferUnit, kArena = 2 * kValues * kBytes;

struct Step {
  std::byte* arena;
  HostTier& tier;
  Chance& chance;

  std::byte* stored(size_t value) const { return arena + value * kBytes; }
  std::byte* fetched(size_t value) const { return arena + (kValues + value) * kBytes; }

  // False if it was given up on the way.
  bool run() {
    std::vector<std::byte> marks(kValues);
    for (size_t value = 0; value < kValues; ++value) {
      marks[value] = static_cast<std::byte>(chance.between(0, 255));
      std::fill_n(stored(value), kBytes, marks[value]);
      tier.store(value, stored(value), value * kBytes, kBytes);
      if (chance.one_in(40)) return false;
    }
    for (size_t value = 0; value < kValues; ++value) {
      tier.settle(value);
      // Its memory may be used for something else now.
      std::fill_n(stored(value), kBytes, std::byte{1});
    }
    for (size_t value = kValues; value-- > 0;) {
      tier.fetch(kValues + value, value * kBytes, fetched(value), kBytes);
      if (chance.one_in(40)) return false;
    }
    for (size_t value = kValues; value-- > 0;) {
      tier.settle(kValues + value);
      const std::byte* const begin = fetched(value);
      expect(std::all_of(begin, begin + kBytes, [&](std::byte each) { return each == marks[value]; }), "a fetched value is another");
    }
    return true;
  }
};

void use(const std::shared_ptr<ActivationArenas>& arenas, uint64_t seed, int turns) {
  Chance chance(seed);
  ArenaUser user(arenas, kArena);
  const std::atomic<bool> cancelled{false};
  while (turns > 0) {
    if (!user.take(Clock::now() + std::chrono::milliseconds(50), cancelled)) continue;
    --turns;
    Step step{user.data(), *user.tier(), chance};
    if (step.run() || chance.one_in(2))
      user.give_back();
    else
      user.tier()->abandon();
  }
}

}  // namespace

void run(Backend&, Chance& chance) {
  const int64_t learners = chance.between(1, 4);
  HostTierSpec tier;
  tier.timing = timing_of(chance);
  const std::vector<size_t> sizes(static_cast<size_t>(chance.between(1, learners)), kArena);
  const auto arenas = std::make_shared<ActivationArenas>(*reference_backend(), sizes, kValues * kBytes, tier);
  std::vector<std::thread> threads;
  for (int64_t learner = 0; learner < learners; ++learner)
    threads.emplace_back([&arenas, seed = static_cast<uint64_t>(chance.between(0, 1 << 30))] { use(arenas, seed, 60); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace arbalest::stress
