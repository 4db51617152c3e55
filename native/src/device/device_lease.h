// The turns of several jobs on one device. A job has the device until each of its learners has computed a round's last step up to its
// exchange and has given the device back; while they exchange, another job computes (crossing: Gu et al., CrossoverScheduler, 2021). Who
// computes when changes no job's weights.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.h"
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
  };

  // On the clock that all threads share.
  struct Span {
    double start, end;
  };

  // Of as many jobs as there are shares, which are above 0.
  explicit DeviceLease(std::span<const double> shares);

  // From the next turn on. Throws INVALID_OPTION for a job that there is not, and for counts that are not above 0, one for each job.
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
    bool rests = false;  // its learners were there, and have all come to rest
    Figures figures;
    std::vector<LeaseUser*> present;  // learners that will come to their next step
    bool records = false;
    std::vector<Span> spans;
  };

  Job& job_of(const LeaseUser& user);
  bool is_asked_for(const Job& job) const;
  bool is_ahead(const Job& job) const;
  void count_round(Job& job);
  Job* next_in_order();
  Job* least_served();
  bool is_granted(const LeaseUser& user) const;
  void drop_idle();
  void appear(LeaseUser& user);
  void give_back(LeaseUser& user, std::shared_ptr<Event> done);
  void leave(LeaseUser& user);
  void begin_turn();
  void end_turn();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Turns turns_;
  size_t place_ = 0;  // in the order
  std::vector<Job> jobs_;
  int holder_ = -1;
  int64_t round_ = 0;  // of the holder, which its learners compute in this turn
  Clock::time_point turn_from_;
  std::vector<LeaseUser*> computing_;  // of the holder, until they give the device back
  double served_ = 0;                  // by the last turn's job, when the turn began
  double lead_ = 0;                    // by which a job may be ahead of another one
  // On streams: the points that this turn's learners have reached when they gave the device back, and those of the turn before.
  std::vector<std::shared_ptr<Event>> done_, before_;
};

// A learner of one of the jobs.
class LeaseUser {
 public:
  LeaseUser(std::shared_ptr<DeviceLease> lease, int job);
  ~LeaseUser() { rest(); }
  LeaseUser(const LeaseUser&) = delete;
  LeaseUser& operator=(const LeaseUser&) = delete;

  // Waits until it is this learner's turn to compute in this round. False if that has not happened by the deadline, or if it is cancelled.
  // The learner computes after the events in `after`.
  bool take(int64_t round, Clock::time_point deadline, const std::atomic<bool>& cancelled, std::vector<std::shared_ptr<Event>>& after);
  // What the learner has queued is done with the event; null where its work is done. `exchanged`: seconds for which its group has exchanged
  // with other hosts until now.
  void give_back(std::shared_ptr<Event> done, double exchanged = 0);
  // It comes to no further step until it takes again: no turn waits for it.
  void rest();
  bool has() const { return has_; }

  // The learner's thread is in native code from begin_call() to end_call(). A turn waits 50 ms at most for a learner that is not.
  void begin_call();
  void end_call();

 private:
  friend class DeviceLease;
  const std::shared_ptr<DeviceLease> lease_;
  const int job_;
  // Read and written with the lease's lock held; has_ by the learner's own thread too.
  std::atomic<bool> has_{false};
  bool present_ = false, waits_ = false;
  int64_t round_ = 0;      // for which it has asked last
  int64_t computed_ = -1;  // the last round for which it has given the device back
  std::optional<Clock::time_point> idle_from_;
};

}  // namespace arbalest
