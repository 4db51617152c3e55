#include "transport/level.h"

#include <iterator>
#include <string>

#include "core/error.h"

namespace arbalest {

void Level::set_members(int64_t from_round, std::vector<int> ranks) {
  for (int rank : ranks)
    if (rank < 0 || rank >= size())
      throw Error("INVALID_OPTION",
                  std::string(name()) + ": received rank " + std::to_string(rank) + "; its ranks are 0 to " + std::to_string(size() - 1));
  const std::lock_guard lock(mutex_);
  members_[from_round] = std::move(ranks);
}

std::vector<int> Level::members(int64_t round) {
  const std::lock_guard lock(mutex_);
  const auto after = members_.upper_bound(round);
  if (after == members_.begin())
    throw Error("INVALID_STATE", std::string(name()) + ": nobody takes part in round " + std::to_string(round));
  const auto now = std::prev(after);
  members_.erase(members_.begin(), now);
  return now->second;
}

}  // namespace arbalest
