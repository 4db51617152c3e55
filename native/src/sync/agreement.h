// How the groups of a run's hosts agree on what their learners do: how many there are in a round, where they rest, that they stop, and
// their losses.
//
// At the start of each of its rounds every host sends an agreement message to all others. What the messages of round r say holds from round
// r+2 on, or as many later as slack allows: a learner enters r+2+slack after round r is whole, so that the messages cost no time. Before
// the first round, and after each rest, the hosts open the group by messages that hold at once; at a rest they close it by the losses of
// the last round. So a group over hosts is
//
//   resting -> opening -> running -> closing -> resting
//
// and goes from one to the next at the same round on all hosts. The learners of a host that is lost are counted in the rounds whose
// messages all hosts have told, two and slack at most, and bring nothing to them. The owner serialises all calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sync/losses.h"
#include "sync/round_schedule.h"
#include "transport/agreed_messages.h"

namespace arbalest {

struct AgreementMessage {
  enum class Kind : int64_t { opening, round, closing };

  Kind kind = Kind::round;
  int64_t round = 0;
  size_t host = 0;  // that has told it
  // The host's learners in the first round for which the message holds; of an opening message those in this round and in the next ones.
  int64_t learners = 0, next_learners = 0;
  int64_t pause = kNever;  // the first round that it would rest at
  uint64_t settings = 0;   // of an opening message: a hash of what all hosts must have set equally
  bool stops = false;
  int64_t not_finite_at = -1;
  int64_t iterations = 0;           // before the round
  std::vector<Losses::Sum> losses;  // of those that it has not told before
};

class Agreement {
 public:
  enum class Phase : uint8_t { resting, opening, running, closing };

  // `told` is called in the hosts' thread when take() may have something new, or the hosts have failed.
  // `slack`: rounds by which a learner may be ahead of another, besides one.
  Agreement(std::shared_ptr<HostsThread> hosts, int number, int64_t period, int64_t slack, HostsThread::Done told);

  size_t rank() const { return static_cast<size_t>(messages_.rank()); }
  Phase phase() const { return phase_; }
  std::exception_ptr failure() const { return messages_.failure(); }
  void await(bool awaits) { messages_.await(awaits); }
  void set_period(int64_t period) { messages_.set_longest(longest_of(period)); }

  // While it is running:
  // Whether it is agreed what happens in the round.
  bool knows(int64_t round) const { return phase_ != Phase::resting && phase_ != Phase::opening && round < known_until_; }
  // Whether all hosts rest there, in a round that it knows.
  bool rests_before(int64_t round) const { return round >= rest_; }
  int64_t learners(int64_t round) const;
  // The place of the i-th learner of this host among all: the first ones of all hosts come before the second ones.
  int64_t place(int64_t round, int64_t i) const;

  // The round of the next message to tell, and the first round whose learners this host has not told.
  int64_t next_message() const { return next_message_; }
  int64_t untold(int64_t round) const {
    return phase_ == Phase::running ? next_message_ + ahead_ : phase_ == Phase::opening ? round + ahead_ : round;
  }
  // Rounds from that of a message to the first one for which it holds.
  int64_t ahead() const { return ahead_; }
  void tell(const AgreementMessage& message);
  // Takes the next message of every host where all have told it. Throws HOSTS_DIFFER where these are at different rounds, or have other
  // settings.
  std::vector<AgreementMessage> take();

 private:
  static size_t longest_of(int64_t period);
  void agree(const std::vector<AgreementMessage>& messages);
  void count(int64_t round, size_t host, int64_t learners);

  const int64_t ahead_;
  AgreedMessages messages_;
  Phase phase_ = Phase::resting;
  int64_t known_until_ = 0, rest_ = kNever, next_message_ = 0;
  std::map<int64_t, std::vector<int64_t>> learners_;  // by round, then by host
};

}  // namespace arbalest
