#include "sync/round_figures.h"

#include <algorithm>

namespace arbalest {

void RoundRecorder::open(int64_t round, int64_t iteration, std::span<const int> members) {
  if (!recording_) return;
  if (records_.size() == kMost) records_.pop_front();
  Record& record = records_.emplace_back();
  record.figures.round = round;
  record.figures.iteration = iteration;
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

void RoundRecorder::finish(int64_t round) {
  Record* const record = find(round);
  if (!record) return;
  record->whole = true;
  record->figures.seconds = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

std::vector<RoundFigures> RoundRecorder::take_after(int64_t round) {
  recording_ = true;
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

RoundRecorder::Record* RoundRecorder::find(int64_t round) {
  if (!recording_) return nullptr;
  const auto found = std::ranges::find(records_, round, [](const Record& record) { return record.figures.round; });
  return found == records_.end() ? nullptr : &*found;
}

MemberFigures& RoundRecorder::member(Record& record, int learner) {
  auto& members = record.figures.members;
  const auto at = std::ranges::lower_bound(members, learner, {}, &MemberFigures::learner);
  if (at != members.end() && at->learner == learner) return *at;
  return *members.insert(at, {learner});
}

}  // namespace arbalest
