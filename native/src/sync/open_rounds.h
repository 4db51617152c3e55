// The rounds that a learner has entered and that are not averaged yet: who takes part in each, and which contributions have arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sync/averaging.h"
#include "sync/group.h"
#include "sync/members.h"

namespace arbalest {

// Open rounds at most, besides those by which learners may be ahead.
inline constexpr int64_t kMostOpen = 2;

// A member of a synchronous group.
struct RoundMember : Member {
  int64_t joined = 0;  // members meet in the order in which they have joined
  int64_t round = 0, iteration_in_round = 0;
  int64_t length = 1;  // iterations of its round
  size_t device = 0;
  // Under rules with slack, and of updates: what it has brought to the last rounds, in turns, since round `first`.
  std::vector<std::shared_ptr<Memory>> slots;
  int64_t first = 0;
  std::shared_ptr<Memory> difference;  // from the central model, while rounds are recorded
  std::optional<Departure> departs;    // as planned

  const std::shared_ptr<Memory>& slot(int64_t in_round) const { return slots[static_cast<size_t>(in_round) % slots.size()]; }
  // What it brought `age` rounds before this one.
  const std::shared_ptr<Memory>& slot_before(int64_t in_round, int64_t age) const {
    return slot(in_round + static_cast<int64_t>(slots.size()) - age);
  }
  bool departs_before_round() const { return departs && round > departs->round; }
  // The present iteration is the one that it does not end,
  bool has_departed() const { return departs && round == departs->round && iteration_in_round >= departs->iterations; }
  // but for the buckets that it brings.
  bool departs_within_round() const { return has_departed() && departs->brought.empty(); }
  bool withholds(size_t bucket) const {
    return departs && round == departs->round && std::ranges::find(departs->brought, static_cast<int>(bucket)) == departs->brought.end();
  }
};

// The contributions of a round's members on one device to one bucket.
struct Gathering {
  std::set<int> pending;                // members yet to arrive
  std::map<int, Contribution> arrived;  // by learner
  bool complete = false;

  std::vector<Contribution> contributions(const std::vector<int>& members) const;
};

struct OpenRound {
  int64_t number = 0, length = 1;
  uint64_t position = 0, next_position = 0;  // in the sequence of samples
  double alpha = 0;
  bool restarts = false;
  int64_t learners = 0;                         // on all hosts
  std::vector<int> members;                     // in the order in which they have joined
  std::vector<size_t> devices;                  // of the members
  std::vector<std::vector<Gathering>> buckets;  // each of all devices
  std::vector<int> present;                     // devices that have members
  bool begun = false;                           // its averaging has begun

  // The learner's place among the members. Not that in TypeScript: a learner that replaces another comes last.
  int64_t order_of(int learner) const;
};

// In lockstep: a contribution that is taken back before any pass has taken its step.
struct Withdrawn {
  int64_t round = 0;
  std::shared_ptr<Memory> vector;
  std::shared_ptr<const DueStep> due;
};

class OpenRounds {
 public:
  bool empty() const { return rounds_.empty(); }
  // The one in progress.
  OpenRound& front() { return rounds_.front(); }
  const OpenRound& front() const { return rounds_.front(); }
  const OpenRound& back() const { return rounds_.back(); }
  // Null where it is not open.
  OpenRound* find(int64_t number);
  // The round waits for each of its members, on the member's device, with all buckets.
  OpenRound& open(OpenRound round, size_t buckets, size_t devices);
  void close_front() { rounds_.pop_front(); }

  void arrive(int learner, size_t device, int64_t round, size_t bucket, const Contribution& contribution);
  // Takes back the learner's contribution; the round waits for the learner again. Nothing if none of its steps is due, or if a pass takes
  // the due steps now.
  std::optional<Withdrawn> withdraw(int learner);
  // Whether a pass takes the due steps of the round in progress now, this learner's among them.
  bool is_stepping_for(int learner) const;
  // The rounds no longer wait for the learner.
  void evict(int learner);
  // The buckets that the learner has brought to the round.
  std::vector<int> brought(int64_t round, int learner) const;
  bool awaits(int learner, size_t device, int64_t round, size_t bucket);
  // The learners that have brought all buckets of the round in progress.
  std::vector<int> arrived() const;

 private:
  std::deque<OpenRound> rounds_;
};

}  // namespace arbalest
