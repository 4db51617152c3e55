// The rounds that a learner has entered and that are not averaged yet, two at most: who takes part in each, and which contributions have
// arrived.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sync/averaging.h"
#include "sync/members.h"

namespace arbalest {

// A member of a synchronous group.
struct RoundMember : Member {
  int64_t round = 0, step = 0;  // where it stands
  int64_t length = 1;           // iterations of its round
  size_t device = 0;
};

// The contributions of a round's members on one device to one bucket.
struct Gathering {
  std::set<int> pending;                // members yet to arrive
  std::map<int, Contribution> arrived;  // in learner order
  bool complete = false;

  std::vector<Contribution> contributions() const;
};

struct OpenRound {
  int64_t number = 0, length = 1;
  uint64_t position = 0, next_position = 0;  // in the sequence of samples
  double alpha = 0;
  bool restarts = false;
  std::vector<int> members;                     // in learner order
  std::vector<std::vector<Gathering>> buckets;  // each of all devices
  std::vector<int> present;                     // devices that have members
  bool begun = false;                           // its averaging has begun

  // Where the learner stands among the members.
  int64_t rank(int learner) const;
};

// A contribution in lockstep that is taken back before its step was taken.
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
  // Each of its members is awaited on its device, with all buckets.
  OpenRound& open(OpenRound round, Members<RoundMember>& members, size_t buckets, size_t devices);
  void close_front() { rounds_.pop_front(); }

  void arrive(int learner, size_t device, int64_t round, size_t bucket, const Contribution& contribution);
  // Takes back the contribution of the learner, which is awaited again. Nothing where none of its steps is due, or all steps are being
  // taken.
  std::optional<Withdrawn> withdraw(int learner);
  // Whether the steps of all learners that came to the round in progress are being taken, this learner's among them.
  bool takes_from(int learner) const;
  // The learner is awaited no longer.
  void evict(int learner);
  // The learners that have brought the last bucket of the round in progress.
  std::vector<int> arrived() const;

 private:
  std::deque<OpenRound> rounds_;
};

}  // namespace arbalest
