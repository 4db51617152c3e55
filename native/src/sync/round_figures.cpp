#include "sync/round_figures.h"

#include <algorithm>
#include <utility>

namespace arbalest {

void RoundRecorder::open(int64_t round, int64_t iteration, std::span<const int> members) {
  if (!recording_ && !is_sampled()) return;
  if (records_.size() == kMost) records_.pop_front();
  Record& record = records_.emplace_back();
  record.figures.round = round;
  record.figures.iteration = iteration;
  record.measured = recording_ || Clock::now() >= next_distance_;
  record.figures.began = on_clock(Clock::now());
  record.missing.assign(members.begin(), members.end());
  for (int learner : members) member(record, learner);
}

void RoundRecorder::add_loss(int64_t round, int learner, double loss) {
  Record* const record = find(round);
  if (!record) return;
  member(*record, learner);
  record->loss_sum += loss;
  ++record->losses;
}

void RoundRecorder::add_wait(int64_t round, int learner, double seconds) {
  if (Record* const record = find(round)) member(*record, learner).waited += seconds;
}

void RoundRecorder::set_distance(int64_t round, int learner, double distance) {
  if (Record* const record = find(round)) member(*record, learner).distance = distance;
}

void RoundRecorder::leave(int64_t round, int learner) {
  if (Record* const record = find(round)) std::erase(record->missing, learner);
}

void RoundRecorder::evict(int learner) {
  for (Record& record : records_) std::erase(record.missing, learner);
}

void RoundRecorder::add_cost(double seconds) {
  next_distance_ = after(std::max(next_distance_, Clock::now()), 1000 * kCostFactor * seconds);
}

void RoundRecorder::finish(int64_t round, double averaged) {
  Record* const record = find(round);
  if (!record) return;
  record->whole = true;
  record->figures.averaged = averaged;
  record->figures.seconds = on_clock(Clock::now());
}

std::vector<RoundFigures> RoundRecorder::take_after(int64_t round) {
  recording_ = true;
  return known_after(round);
}

std::vector<RoundFigures> RoundRecorder::sample_after(int64_t round) {
  const Clock::time_point now = Clock::now();
  sampled_until_ = after(now, kSampledFor);
  const int64_t newest = records_.empty() ? 0 : records_.back().figures.round;
  return known_after(recording_ ? std::max(round, newest - kMostSampled) : round);
}

// Whether the round that is about to begin is one of the sample.
bool RoundRecorder::is_sampled() {
  if (sampled_until_ == Clock::time_point::min()) return false;
  const Clock::time_point now = Clock::now();
  if (now > sampled_until_ || now < next_sample_) return false;
  next_sample_ = after(now, kSamplePeriod);
  return true;
}

std::vector<RoundFigures> RoundRecorder::known_after(int64_t round) {
  std::vector<RoundFigures> taken;
  for (Record& record : records_) {
    if (record.figures.round <= round) continue;
    // A later round may be known already; it waits for this one, so that no reader misses any.
    if (!record.whole || !record.missing.empty()) break;
    record.figures.loss =
        record.losses > 0 ? record.loss_sum / static_cast<double>(record.losses) : std::numeric_limits<double>::quiet_NaN();
    taken.push_back(record.figures);
  }
  return taken;
}

// By halves: each step of each learner asks for it several times, with the group's lock held.
const RoundRecorder::Record* RoundRecorder::find(int64_t round) const {
  const auto found = std::ranges::lower_bound(records_, round, {}, [](const Record& record) { return record.figures.round; });
  return found != records_.end() && found->figures.round == round ? &*found : nullptr;
}

RoundRecorder::Record* RoundRecorder::find(int64_t round) { return const_cast<Record*>(std::as_const(*this).find(round)); }

MemberFigures& RoundRecorder::member(Record& record, int learner) {
  auto& members = record.figures.members;
  const auto at = std::ranges::lower_bound(members, learner, {}, &MemberFigures::learner);
  if (at != members.end() && at->learner == learner) return *at;
  return *members.insert(at, {learner});
}

}  // namespace arbalest
