// The state that groups of every rule have: the schedule, the losses, the progress, and the lock over all of it.
#pragma once

#include <atomic>
#include <mutex>

#include "sync/changes.h"
#include "sync/group.h"
#include "sync/losses.h"

namespace arbalest {

class GroupState : public Group {
 public:
  void set_rates(int64_t from_iteration, std::span<const float> rates) final;
  void set_pause(int64_t round) final;
  bool extend_pause(int64_t round) final;
  void set_end(int64_t iterations) final;
  void set_rule(const RuleChange& change) final;
  void stop() override;
  std::vector<float> losses(int64_t from_iteration) const final;
  std::vector<RoundFigures> round_figures(int64_t after) final;
  std::vector<RoundFigures> sampled_figures(int64_t after) final;
  void read_central(std::byte* canonical) const final;

  const ParameterLayout& layout() const final { return spec_.layout; }
  Backend& backend() const final { return backend_; }
  Backend& snapshots() const final { return spec_.moved.states(backend_); }

 protected:
  using Lock = Changes::Lock;
  // No product of it and of rounds overflows.
  static constexpr int64_t kLongestPeriod = int64_t{1} << 30;

  GroupState(Backend& backend, GroupSpec spec);

  // With the lock held:
  // The first round that no learner has entered.
  virtual int64_t unopened_round() const = 0;
  // Iterations that all learners have completed.
  virtual int64_t whole_iterations() const = 0;
  // No learner is within a round.
  virtual bool all_over() const = 0;
  // A pause, the end or a period has been set.
  virtual void schedule_changed() {}
  // Throws INVALID_STATE.
  virtual void refuse_in_progress() const = 0;
  // Numbers that only some rules have; both are in their range. Throws INVALID_OPTION.
  virtual void change_averaging(const RuleChange& change) = 0;
  // Takes the memory that the recording of rounds needs, before it begins. Throws OUT_OF_MEMORY.
  virtual void prepare_recording() {}
  virtual int64_t longest_period() const { return kLongestPeriod; }
  // Counts the loss; false stops the group, as the loss is not finite.
  bool add_loss(int64_t iteration, double loss);
  void move_pause(int64_t round);
  void capture_progress(Snapshot& snapshot) const;
  void restore_progress(const Snapshot& snapshot);

  Backend& backend_;
  const GroupSpec spec_;

  mutable std::mutex mutex_;
  mutable Changes changed_;
  RoundSchedule schedule_;
  int64_t round_ = 0;      // whole rounds,
  int64_t iteration_ = 0;  // their iterations,
  uint64_t position_ = 0;  // and the samples that have been handed out
  Losses losses_;
  RoundRecorder recorder_;
  bool stopped_ = false;
};

}  // namespace arbalest
