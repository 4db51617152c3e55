// A learner or an evaluator of one of the jobs that share a device.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/condition_variable.h"
#include "device/device_lease.h"

namespace arbalest {

class LeaseUser {
 public:
  // Evaluators share a turn with each other and not with learners: one that asks makes no round.
  enum class Kind : uint8_t { learner, evaluator };

  LeaseUser(std::shared_ptr<DeviceLease> lease, int job, Kind kind = Kind::learner);
  ~LeaseUser() { rest(); }
  LeaseUser(const LeaseUser&) = delete;
  LeaseUser& operator=(const LeaseUser&) = delete;

  // Waits until it is this learner's turn to compute in this round. False if that has not happened by the deadline, or if it is cancelled.
  // The learner computes after the events in `after`. An evaluator's round is of no account.
  bool take(int64_t round, Clock::time_point deadline, const std::atomic<bool>& cancelled, std::vector<std::shared_ptr<Event>>& after);
  // What the learner has queued is done with the event; null where its work is done. `exchanged`: seconds for which its group has exchanged
  // with other hosts until now.
  void give_back(std::shared_ptr<Event> done, double exchanged = 0);
  // It comes to no further step until it takes again: no turn waits for it.
  void rest();
  bool has() const { return has_; }
  bool evaluates() const { return kind_ == Kind::evaluator; }

  // The learner's thread is in native code from begin_call() to end_call(). A turn waits 50 ms at most for a learner that is not.
  void begin_call();
  void end_call();

 private:
  friend class DeviceLease;
  bool wait_for_turn(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, const std::atomic<bool>& cancelled);

  const std::shared_ptr<DeviceLease> lease_;
  const int job_;
  const Kind kind_;
  // Read and written with the lease's lock held; has_ by the learner's own thread too.
  std::atomic<bool> has_{false};
  bool present_ = false, waits_ = false;
  int64_t round_ = 0;      // for which it has asked last
  int64_t computed_ = -1;  // the last round for which it has given the device back
  std::optional<Clock::time_point> idle_from_;
  std::optional<Clock::time_point> waits_from_;  // or since it has asked the first host for its turn
  std::condition_variable changed_;              // its own, so that a turn wakes those alone that compute in it
};

}  // namespace arbalest
