// A group of learners around a central model: membership, positions in the data and averaging, all numbered by round.
//
// A round is `period` iterations of every member. In its last iteration each member, in one pass over its weights, takes its gradient step
// and its correction c = alpha*(w - z_r), writes c into its slot and arrives. When all have arrived the corrections are summed in the
// members' order and z_{r+1} = z_r + sum c + mu*(z_r - z_{r-1}); whoever would wait helps to sum. A member needs z_{r+1} only at its next
// correction, so waiting overlaps a whole round's gradients.
//
// Synchronous model averaging: Koliousis et al., "Crossbow: Scaling Deep Learning with Small Batch Sizes on Multi-GPU Servers", VLDB 2019.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "backend.h"
#include "program.h"
#include "round_sum.h"
#include "vectors.h"

namespace arbalest {

using Clock = std::chrono::steady_clock;

struct GroupSpec {
  ParameterLayout layout;
  int64_t batch = 1;
  int64_t period = 1;
  std::optional<double> alpha;  // absent: min(1/k, 1/2)
  double sync_momentum = 0;
};

// One member's share of one iteration.
struct Ticket {
  int64_t round = 0, iteration = 0;
  uint64_t position = 0;  // of its batch in the sequence of samples
  double rate = 0, alpha = 0;
  bool corrects = false;     // the round's last iteration
  bool starts_anew = false;  // take the central model and forget the velocity before anything else
};

enum class Entry { granted, waiting, paused, evicted, cancelled };

struct GroupStatus {
  int64_t round = 0, iterations = 0;
  uint64_t position = 0;
  std::vector<int> members, arrived;
  int64_t not_finite_at = -1;
};

class Group {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  Group(Backend& backend, GroupSpec spec, const std::byte* initial_canonical);

  // From the owner's side; everything takes effect at a round's number, which is returned.
  int64_t join(int learner);
  int64_t leave(int learner);
  void evict(int learner);
  void set_rates(int64_t from_iteration, std::span<const float> rates);
  void set_restarts(std::vector<int64_t> rounds);
  void set_pause(int64_t round);
  void set_end(int64_t iterations);
  void stop();
  GroupStatus status() const;
  std::vector<float> losses(int64_t from_iteration) const;
  void read_central(std::byte* canonical) const;
  void write_central(const std::byte* canonical);

  // From a learner's thread.
  Entry enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket);
  // Until the central model of `round` is whole.
  Entry await(int learner, int64_t round, Clock::time_point deadline, const std::atomic<bool>& cancelled);
  const std::byte* central(int64_t round) const { return central_[round & 1].data(); }
  // Null for a learner that is no member; held by the caller, so that eviction cannot take it away under the writer.
  std::shared_ptr<Memory> slot(int learner);
  // The correction of this round is in the slot, and the central model has been read.
  void arrive(int learner, int64_t round);
  // The iteration is over for this member. False where the loss is not finite: the group has been stopped.
  bool report(int learner, int64_t iteration, double loss);
  // Copies the central model of the last whole round, which is returned.
  int64_t copy_central(std::byte* vector) const;

  const ParameterLayout& layout() const { return spec_.layout; }
  Backend& backend() const { return backend_; }

 private:
  struct Member {
    int64_t until = kNever;       // first round that it no longer takes part in
    int64_t round = 0, step = 0;  // where it stands
    int64_t length = 1;           // iterations of its round
    int64_t iterations = 0;       // whole ones, counted from the group's first
    bool fresh = true;
    std::shared_ptr<Memory> slot;
  };
  struct Round {
    int64_t number = 0, length = 1;
    uint64_t position = 0;
    double alpha = 0;
    bool restart = false;
    std::vector<int> members;  // in learner order
    std::set<int> pending;     // members yet to arrive
    std::map<int, std::shared_ptr<Memory>> arrived;
  };

  Round& open(int64_t number);
  int64_t last_opened() const { return open_.empty() ? round_ - 1 : open_.back().number; }
  int64_t iteration_of(const Member& member) const { return member.round * spec_.period + member.step; }
  double rate_at(int64_t iteration) const;
  std::shared_ptr<RoundSum> begin_sum_if_complete();
  void help(const std::shared_ptr<RoundSum>& sum);
  void finish_sum();
  Entry await_locked(std::unique_lock<std::mutex>& lock, int learner, int64_t round, Clock::time_point deadline,
                     const std::atomic<bool>& cancelled);
  int64_t whole_iterations() const;

  Backend& backend_;
  const GroupSpec spec_;
  Memory central_[2];

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Member> members_;
  std::deque<Round> open_;  // entered by somebody, not yet averaged; at most two
  std::shared_ptr<RoundSum> sum_;
  std::atomic<int64_t> whole_rounds_{0};  // round_, readable while spinning
  int64_t round_ = 0;                     // the central model's number: whole rounds behind it
  uint64_t position_ = 0;                 // where the next round begins in the sequence of samples
  int64_t pause_ = kNever, end_ = kNever;
  std::set<int64_t> restarts_;
  std::map<int64_t, std::vector<float>> rates_;  // by first iteration
  bool stopped_ = false;
  int64_t not_finite_at_ = -1;
  int64_t departed_iterations_ = 0;  // whole iterations when nobody is left

  struct Loss {
    double sum = 0;
    int count = 0;
    int64_t iteration = -1;
  };
  std::vector<Loss> losses_;  // a ring by iteration
};

}  // namespace arbalest
