// At which iterations rounds begin: each of those before an iteration is one long, all others a period. A run that ended within a period
// has had a shorter one; whoever goes on from there begins the next at once, and counts from it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace arbalest {

class RoundStarts {
 public:
  RoundStarts(int64_t period, int64_t from) : period_(period), from_(from) {}

  // Of this round and those after it.
  void resume_at(int64_t round, int64_t iteration) {
    round_ = round;
    iteration_ = iteration;
  }

  // The first iteration of a round.
  int64_t of(int64_t round) const {
    const int64_t rounds = round - round_;
    const int64_t single = std::clamp<int64_t>(from_ - iteration_, 0, rounds);
    return iteration_ + single + (rounds - single) * period_;
  }

 private:
  const int64_t period_, from_;
  int64_t round_ = 0, iteration_ = 0;
};

}  // namespace arbalest
