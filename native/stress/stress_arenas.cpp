// Learners that share arenas: no two have the same arena at once, and none waits for ever.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "cpu/reference/reference.h"
#include "device/activation_arenas.h"
#include "harness.h"

namespace arbalest::stress {
namespace {

constexpr size_t kBytes = 4096;
constexpr std::chrono::milliseconds kTurn{2};

void fill(std::byte* arena, std::byte mark) { std::fill_n(arena, kBytes, mark); }

bool holds(const std::byte* arena, std::byte mark) {
  return std::all_of(arena, arena + kBytes, [&](std::byte each) { return each == mark; });
}

void use(const std::shared_ptr<ActivationArenas>& arenas, uint64_t seed, int turns) {
  Chance chance(seed);
  while (turns > 0) {
    ArenaUser user(arenas);
    // Now and then another learner comes in its place.
    for (int64_t left = chance.between(1, 20); left > 0 && turns > 0; --left) {
      const std::atomic<bool> cancelled{chance.one_in(8)};
      if (!user.take(Clock::now() + kTurn, cancelled)) continue;
      expect(user.index() < arenas->count(), "more arenas were lent than there are");
      const auto mark = static_cast<std::byte>(chance.between(0, 255));
      fill(user.data(), mark);
      if (chance.one_in(2)) std::this_thread::yield();
      expect(holds(user.data(), mark), "two have the same arena");
      if (!chance.one_in(8)) user.give_back();
      --turns;
    }
  }
}

}  // namespace

void run(Backend&, Chance& chance) {
  const int64_t learners = chance.between(1, 5);
  // Writes and reads the contents of an arena.
  const auto arenas = std::make_shared<ActivationArenas>(*reference_backend(), kBytes, static_cast<int>(chance.between(1, learners)));
  std::vector<std::thread> threads;
  for (int64_t learner = 0; learner < learners; ++learner)
    threads.emplace_back([&arenas, seed = static_cast<uint64_t>(chance.between(0, 1 << 30))] { use(arenas, seed, 200); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace arbalest::stress
