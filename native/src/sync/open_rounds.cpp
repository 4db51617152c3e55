#include "sync/open_rounds.h"

#include <algorithm>

namespace arbalest {

std::vector<Contribution> Gathering::contributions(const std::vector<int>& members) const {
  std::vector<Contribution> in_order;
  for (int learner : members)
    if (const auto found = arrived.find(learner); found != arrived.end()) in_order.push_back(found->second);
  return in_order;
}

int64_t OpenRound::order_of(int learner) const { return std::find(members.begin(), members.end(), learner) - members.begin(); }

OpenRound* OpenRounds::find(int64_t number) {
  for (OpenRound& round : rounds_)
    if (round.number == number) return &round;
  return nullptr;
}

OpenRound& OpenRounds::open(OpenRound round, size_t buckets, size_t devices) {
  std::vector<Gathering> gatherings(devices);
  for (size_t i = 0; i < round.members.size(); ++i) gatherings[round.devices[i]].pending.insert(round.members[i]);
  for (size_t device = 0; device < devices; ++device) {
    gatherings[device].complete = gatherings[device].pending.empty();
    if (!gatherings[device].complete) round.present.push_back(static_cast<int>(device));
  }
  round.buckets.assign(buckets, gatherings);
  return rounds_.emplace_back(std::move(round));
}

void OpenRounds::arrive(int learner, size_t device, int64_t number, size_t bucket, const Contribution& contribution) {
  OpenRound* const round = find(number);
  if (!round) return;
  Gathering& gathering = round->buckets[bucket][device];
  if (gathering.pending.erase(learner)) gathering.arrived.emplace(learner, contribution);
}

std::optional<Withdrawn> OpenRounds::withdraw(int learner) {
  if (rounds_.empty()) return std::nullopt;
  OpenRound& round = rounds_.front();
  // Lockstep knows one bucket and one device.
  Gathering& gathering = round.buckets.front().front();
  const auto found = gathering.arrived.find(learner);
  if (gathering.complete || found == gathering.arrived.end() || !found->second.due) return std::nullopt;
  Withdrawn withdrawn{round.number, found->second.vector, found->second.due};
  gathering.arrived.erase(found);
  gathering.pending.insert(learner);
  return withdrawn;
}

bool OpenRounds::is_stepping_for(int learner) const {
  if (rounds_.empty()) return false;
  const Gathering& gathering = rounds_.front().buckets.front().front();
  return gathering.complete && gathering.arrived.count(learner) != 0;
}

void OpenRounds::evict(int learner) {
  for (OpenRound& round : rounds_)
    for (std::vector<Gathering>& devices : round.buckets)
      for (Gathering& gathering : devices) gathering.pending.erase(learner);
}

std::vector<int> OpenRounds::brought(int64_t number, int learner) const {
  std::vector<int> buckets;
  for (const OpenRound& round : rounds_)
    for (size_t bucket = 0; round.number == number && bucket < round.buckets.size(); ++bucket)
      if (std::ranges::any_of(round.buckets[bucket], [&](const Gathering& gathering) { return gathering.arrived.count(learner) != 0; }))
        buckets.push_back(static_cast<int>(bucket));
  return buckets;
}

bool OpenRounds::awaits(int learner, size_t device, int64_t number, size_t bucket) {
  const OpenRound* const round = find(number);
  return round && round->buckets[bucket][device].pending.count(learner) != 0;
}

std::vector<int> OpenRounds::arrived() const {
  if (rounds_.empty()) return {};
  const auto& buckets = rounds_.front().buckets;
  std::map<int, size_t> brought;
  for (const std::vector<Gathering>& devices : buckets)
    for (const Gathering& gathering : devices)
      for (const auto& [learner, contribution] : gathering.arrived) ++brought[learner];
  std::vector<int> learners;
  for (const auto& [learner, count] : brought)
    if (count == buckets.size()) learners.push_back(learner);
  return learners;
}

}  // namespace arbalest
