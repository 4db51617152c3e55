// Where the rounds of a synchronous group begin and end, as its owner has set it: which are restarts, before which it rests, and the rates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "sync/group.h"
#include "sync/rates.h"
#include "sync/round_starts.h"
#include "sync/rule.h"

namespace arbalest {

class Course {
 public:
  explicit Course(const SynchronousRule& rule) : starts_(rule.period, rule.from) {}

  // Of a group that goes on.
  void resume_at(int64_t round, int64_t iteration) { starts_.resume_at(round, iteration); }
  void set_restarts(const std::vector<int64_t>& rounds) { restarts_ = {rounds.begin(), rounds.end()}; }
  void set_pause(int64_t round) { pause_ = round; }
  void set_end(int64_t iterations) { end_ = iterations; }
  void set_rates(int64_t from_iteration, std::span<const float> rates) { rates_.set(from_iteration, rates); }

  int64_t first_iteration(int64_t round) const { return starts_.of(round); }
  // In iterations; the last round ends with the course.
  int64_t length(int64_t round) const { return std::min(first_iteration(round + 1), end_) - first_iteration(round); }
  bool restarts(int64_t round) const { return restarts_.count(round) != 0; }
  // Nobody enters it: a pause, or the end.
  bool rests_before(int64_t round) const { return round >= pause_ || first_iteration(round) >= end_; }
  double rate(int64_t iteration) const { return rates_.at(iteration); }

 private:
  RoundStarts starts_;
  int64_t pause_ = Group::kNever, end_ = Group::kNever;
  std::set<int64_t> restarts_;
  Rates rates_;
};

}  // namespace arbalest
