#include "transport/level.h"

#include <exception>
#include <iterator>
#include <string>

#include "core/error.h"

namespace arbalest {

void Level::set_ranks(int64_t from_round, std::vector<int> ranks) {
  for (int rank : ranks)
    if (rank < 0 || rank >= size())
      throw Error("INVALID_OPTION",
                  std::string(name()) + ": received rank " + std::to_string(rank) + "; its ranks are 0 to " + std::to_string(size() - 1));
  const std::lock_guard lock(mutex_);
  ranks_[from_round] = std::move(ranks);
}

void Level::end() noexcept {
  try {
    streams_.synchronise();
  } catch (const std::exception&) {
    // The replicas on these devices throw the same fault.
  }
}

std::vector<int> Level::ranks_in(int64_t round) {
  const std::lock_guard lock(mutex_);
  const auto after = ranks_.upper_bound(round);
  if (after == ranks_.begin()) throw Error("INVALID_STATE", std::string(name()) + ": nobody takes part in round " + std::to_string(round));
  const auto now = std::prev(after);
  ranks_.erase(ranks_.begin(), now);
  return now->second;
}

}  // namespace arbalest
