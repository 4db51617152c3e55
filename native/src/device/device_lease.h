// The turns of several jobs on one device. A job has the device until each of its learners has computed a round's last step up to its
// exchange and has given the device back; while they exchange, another job computes (crossing: Gu et al., CrossoverScheduler, 2021). Who
// computes when changes no job's weights.
//
// Over several hosts the first one decides: it tells the others each turn when it begins, and they have theirs in its order. Otherwise two
// jobs could wait for each other for ever, each on the host that computes for the other one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/condition_variable.h"
#include "device/stream.h"

namespace arbalest {

class LeaseUser;

class DeviceLease {
 public:
  struct Turns {
    enum class Mode : uint8_t {
      shared,   // all jobs compute at any time
      crossed,  // one job at a time, in turns
      alone,    // one job; the others wait unless it rests
    };
    Mode mode = Mode::crossed;
    int job = -1;  // of Mode::alone
    // Of Mode::crossed: the jobs in the order of their turns, again and again, so that several hosts have one order. A turn waits for a job
    // that computes or exchanges, and not for one that rests. If empty, a turn goes to a job that asks for it: of several, to the one that
    // has had the least time for its share, so that jobs share time and not steps.
    std::vector<int> order = {};
    // Of Mode::shared, and of Mode::crossed without an order, unless empty: what a round of each job counts, such as its seconds alone by
    // the job's share. A job waits that is ahead of another one, so that all are slowed down alike.
    std::vector<double> counts = {};
  };

  struct Figures {
    int64_t turns = 0;
    double seconds = 0;    // in its turns
    double waited = 0;     // of its learners together, for a turn
    int64_t rounds = 0;    // each when the first of its learners has come to the exchange
    double last = 0;       // when that has happened last, in seconds on the clock that all threads share
    double exchanged = 0;  // as the job's group has told then
    double overhead = 0;   // of its learners together, in the lease's own calls, and until a thread runs whose turn it is
    double processor = 0;  // of their threads, in these calls
  };

  // What hosts tell each other: whose turn begins, or from a host that is not the first one, that its learners wait for that turn.
  struct TurnMessage {
    int64_t round;  // of the job that its learners compute
    int64_t job;    // -1: from now on all jobs compute at any time
  };

  // On the clock that all threads share.
  struct Span {
    double start, end;
  };

  // Of as many jobs as there are shares, which are above 0.
  explicit DeviceLease(std::span<const double> shares);

  // Nothing computes until the hosts have met and one of the other calls follows. `tell` sends messages to the other hosts; it returns at
  // once.
  void await_hosts(std::function<void(const TurnMessage&)> tell);
  void lead_hosts();
  void leave_hosts();
  // By another host.
  void told(const TurnMessage& message);

  // From the next turn on; over several hosts to be called on the first one. Throws INVALID_OPTION for a job that there is not, and for
  // counts that are not above 0, one for each job.
  void set_turns(Turns turns);
  // Throws INVALID_OPTION for another number of shares than there are jobs.
  void set_shares(std::span<const double> shares);
  std::vector<Figures> figures() const;
  // The job's turns since the last call, the newest 65,536 at most. They are recorded from the first call on. Throws INVALID_OPTION for a
  // job that there is not.
  std::vector<Span> spans(int job);
  int jobs() const { return static_cast<int>(jobs_.size()); }
  // The job whose turn it is, or -1.
  int holder() const;

 private:
  friend class LeaseUser;
  struct Job {
    double share = 1;
    double served = 0;   // seconds by its share; at least that of the others when it comes back
    double counted = 0;  // of its rounds, since the turns were set
    int64_t round = -1;  // the last one that a learner has computed
    int64_t told = -1;   // the last one whose turn the first host has told
    bool rests = false;  // its learners were there, and have all come to rest
    Figures figures;
    std::vector<LeaseUser*> present;  // learners that will come to their next step, and evaluators that compute or wait
    bool records = false;
    std::vector<Span> spans;
  };

  Job& job_of(const LeaseUser& user);
  bool is_asked_for(const Job& job) const;
  bool is_ahead(const Job& job) const;
  void count_round(Job& job);
  Job* next_in_order();
  Job* least_served();
  bool all_at_once() const;
  bool is_granted(const LeaseUser& user) const;
  void drop_idle();
  void appear(LeaseUser& user);
  void give_back(LeaseUser& user, std::shared_ptr<Event> done);
  void leave(LeaseUser& user);
  void begin_turn();
  void begin_turn_of(Job& job, int64_t round);
  void begin_told_turn();
  void end_turn();
  void tell(int64_t job, int64_t round) const;
  void wake_all();

  mutable std::mutex mutex_;
  Turns turns_;
  size_t place_ = 0;  // in the order
  std::vector<Job> jobs_;
  int holder_ = -1;
  int64_t round_ = 0;  // of the holder, which its learners compute in this turn; -1 where evaluators compute
  Clock::time_point turn_from_;
  std::vector<LeaseUser*> computing_;  // of the holder, until they give the device back
  double served_ = 0;                  // by the last turn's job, when the turn began
  double lead_ = 0;                    // by which a job may be ahead of another one
  // On streams: the points that this turn's learners have reached when they gave the device back, and those of the turn before.
  std::vector<std::shared_ptr<Event>> done_, before_;
  // Over several hosts:
  std::function<void(const TurnMessage&)> tell_;
  bool follows_ = false, told_all_ = false;  // another host decides; it has told that all jobs compute at any time
  std::deque<TurnMessage> messages_;         // of turns that have yet to begin here
  Clock::time_point message_from_;           // when the first of them became the first
};

}  // namespace arbalest
