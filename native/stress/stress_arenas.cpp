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

bool holds(const std::byte* arena, size_t bytes, std::byte mark) {
  return std::all_of(arena, arena + bytes, [&](std::byte each) { return each == mark; });
}

void use(const std::shared_ptr<ActivationArenas>& arenas, uint64_t seed, int turns) {
  Chance chance(seed);
  while (turns > 0) {
    const size_t bytes = kBytes * static_cast<size_t>(chance.between(1, 2));
    ArenaUser user(arenas, bytes);
    // Now and then another learner comes in its place.
    for (int64_t left = chance.between(1, 20); left > 0 && turns > 0; --left) {
      const std::atomic<bool> cancelled{chance.one_in(8)};
      if (!user.take(Clock::now() + kTurn, cancelled)) continue;
      expect(user.index() < arenas->count(), "more arenas were lent than there are");
      const auto mark = static_cast<std::byte>(chance.between(0, 255));
      std::fill_n(user.data(), bytes, mark);
      if (chance.one_in(2)) std::this_thread::yield();
      expect(holds(user.data(), bytes, mark), "two have the same arena");
      if (!chance.one_in(8)) user.give_back();
      --turns;
    }
  }
}

}  // namespace

void run(Backend&, Chance& chance) {
  const int64_t learners = chance.between(1, 5);
  // Writes and reads the contents of an arena.
  // Some learners need larger arenas than others, and all of them have at least one.
  std::vector<size_t> sizes{2 * kBytes};
  for (int64_t more = chance.between(0, learners - 1); more > 0; --more)
    sizes.push_back(kBytes * static_cast<size_t>(chance.between(1, 2)));
  const auto arenas = std::make_shared<ActivationArenas>(*reference_backend(), sizes);
  std::vector<std::thread> threads;
  for (int64_t learner = 0; learner < learners; ++learner)
    threads.emplace_back([&arenas, seed = static_cast<uint64_t>(chance.between(0, 1 << 30))] { use(arenas, seed, 200); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace arbalest::stress
