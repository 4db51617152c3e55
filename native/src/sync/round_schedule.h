// The rounds of a group as its owner has planned them: their first and last iterations, restarts, pauses, and the learning rates.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/fnv.h"

namespace arbalest {

// A round or an iteration that is never reached.
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A round is `period` iterations, but for those that begin before iteration `from`, which have one each. A run that ended within a period
// had a shorter last round: the run that resumes it begins the next round at once, and counts periods from there.
class RoundSchedule {
 public:
  RoundSchedule(int64_t period, int64_t from) : period_(period), from_(from) {}

  // This round begins at this iteration.
  void resume_at(int64_t round, int64_t iteration);
  void set_restarts(const std::vector<int64_t>& rounds) { restarts_ = {rounds.begin(), rounds.end()}; }
  // Rounds have another length from this one on, which begins at this iteration.
  void set_period(int64_t period, int64_t round, int64_t iteration) {
    resume_at(round, iteration);
    period_ = period;
  }
  void set_pause(int64_t round) { pause_ = round; }
  int64_t pause() const { return pause_; }
  int64_t period() const { return period_; }
  void set_end(int64_t iterations) { end_ = iterations; }
  // Rates of iterations from `from_iteration` on; the last one holds until others are set. Throws INVALID_OPTION for none.
  void set_rates(int64_t from_iteration, std::span<const float> rates);

  int64_t first_iteration(int64_t round) const;
  // In iterations; the run's last round ends with the run.
  int64_t length(int64_t round) const;
  int64_t end() const { return end_; }
  bool restarts(int64_t round) const { return restarts_.count(round) != 0; }
  // The last restart until the round; 0 for none.
  int64_t last_restart(int64_t round) const {
    const auto next = restarts_.upper_bound(round);
    return next == restarts_.begin() ? 0 : *std::prev(next);
  }
  // The run has ended before the round.
  bool ends_before(int64_t round) const { return first_iteration(round) >= end_; }
  // No learner enters the round: there is a pause, or the end.
  bool rests_before(int64_t round) const { return round >= pause_ || ends_before(round); }
  // 0 before the first iteration for which rates were set.
  double rate(int64_t iteration) const;
  // All but the pause.
  void add_to(Fnv& hash) const;

 private:
  int64_t period_;
  const int64_t from_;
  int64_t known_round_ = 0, known_iteration_ = 0;  // a round, and the iteration at which it begins
  int64_t pause_ = kNever, end_ = kNever;
  std::set<int64_t> restarts_;
  std::map<int64_t, std::vector<float>> rates_;  // by the first iteration
};

}  // namespace arbalest
