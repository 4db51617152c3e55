#include "sync/round_schedule.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"

namespace arbalest {

void RoundSchedule::resume_at(int64_t round, int64_t iteration) {
  known_round_ = round;
  known_iteration_ = iteration;
}

void RoundSchedule::set_rates(int64_t from_iteration, std::span<const float> rates) {
  if (rates.empty()) throw Error("INVALID_OPTION", "rates: received none; give at least one");
  rates_.erase(rates_.lower_bound(from_iteration), rates_.end());
  rates_[from_iteration] = {rates.begin(), rates.end()};
}

int64_t RoundSchedule::first_iteration(int64_t round) const {
  const int64_t rounds = round - known_round_;
  const int64_t single = std::clamp<int64_t>(from_ - known_iteration_, 0, rounds);
  return known_iteration_ + single + (rounds - single) * period_;
}

int64_t RoundSchedule::length(int64_t round) const { return std::min(first_iteration(round + 1), end_) - first_iteration(round); }

double RoundSchedule::rate(int64_t iteration) const {
  const auto after = rates_.upper_bound(iteration);
  if (after == rates_.begin()) return 0;
  const auto& [from, rates] = *std::prev(after);
  return rates[std::min<size_t>(static_cast<size_t>(iteration - from), rates.size() - 1)];
}

void RoundSchedule::add_to(Fnv& hash) const {
  for (const int64_t each : {period_, from_, known_round_, known_iteration_, end_}) hash.add(each);
  for (const int64_t round : restarts_) hash.add(round);
  for (const auto& [from, rates] : rates_) {
    hash.add(from);
    hash.add(std::as_bytes(std::span(rates)));
  }
}

}  // namespace arbalest
