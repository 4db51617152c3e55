// The rounds that somebody has entered and that are not averaged yet, two at most: who takes part in each, and what has arrived of it.
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

// What a round's members on one device bring of one bucket.
struct Gathering {
  std::set<int> pending;                // members yet to arrive
  std::map<int, Contribution> arrived;  // in learner order
  bool complete = false;

  std::vector<Contribution> contributions() const;
};

struct Round {
  int64_t number = 0, length = 1;
  uint64_t position = 0, next_position = 0;  // in the sequence of samples
  double alpha = 0;
  bool restarts = false;
  std::vector<int> members;                     // in learner order
  std::vector<std::vector<Gathering>> buckets;  // each of all devices
  std::vector<int> present;                     // devices that have members
  bool begun = false;                           // to be averaged

  // Where the learner stands among the members.
  int64_t rank(int learner) const;
};

// What a member has brought to a round in lockstep, taken back: its step is no longer due.
struct Withdrawn {
  int64_t round = 0;
  std::shared_ptr<Memory> vector;
  std::shared_ptr<const DueStep> due;
};

class OpenRounds {
 public:
  bool empty() const { return rounds_.empty(); }
  // The one in progress.
  Round& front() { return rounds_.front(); }
  const Round& front() const { return rounds_.front(); }
  const Round& back() const { return rounds_.back(); }
  // Null where it is not open.
  Round* find(int64_t number);
  // Its members are awaited, each on its device, with so many buckets.
  Round& open(Round round, Members& members, size_t buckets, size_t devices);
  void close_front() { rounds_.pop_front(); }

  void arrive(int learner, size_t device, int64_t round, size_t bucket, const Contribution& contribution);
  // The learner is awaited again. Nothing where no step of its is due, or the steps of all are being taken.
  std::optional<Withdrawn> withdraw(int learner);
  // Whether what all have brought to the round in progress, the learner among them, is being taken.
  bool takes_from(int learner) const;
  // Nothing more is awaited of the learner.
  void evict(int learner);
  // Who has brought the last bucket of the round in progress.
  std::vector<int> arrived() const;

 private:
  std::deque<Round> rounds_;
};

}  // namespace arbalest
