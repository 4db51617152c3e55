#include "sync/group_state.h"

#include <algorithm>

namespace arbalest {
namespace {

RoundSchedule schedule_of(const GroupSpec& spec) {
  return spec.synchronous ? RoundSchedule(spec.synchronous->period, spec.synchronous->from) : RoundSchedule(spec.asynchronous->period, 0);
}

}  // namespace

GroupState::GroupState(Backend& backend, GroupSpec spec) : backend_(backend), spec_(std::move(spec)), schedule_(schedule_of(spec_)) {}

void GroupState::set_rates(int64_t from_iteration, std::span<const float> rates) {
  const std::lock_guard lock(mutex_);
  schedule_.set_rates(from_iteration, rates);
}

void GroupState::set_pause(int64_t round) {
  const std::lock_guard lock(mutex_);
  move_pause(round);
}

bool GroupState::extend_pause(int64_t round) {
  const std::lock_guard lock(mutex_);
  if (unopened_round() >= schedule_.pause() && all_over()) return false;
  move_pause(round);
  return true;
}

void GroupState::move_pause(int64_t round) {
  // All learners finish a round that one of them has entered: one that stopped before it would hold up the others.
  schedule_.set_pause(std::max(round, unopened_round()));
  schedule_changed();
  changed_.announce();
}

void GroupState::set_end(int64_t iterations) {
  const std::lock_guard lock(mutex_);
  schedule_.set_end(iterations);
  schedule_changed();
}

void GroupState::set_rule(const RuleChange& change) {
  const auto refuse = [](const std::string& name, double value, const std::string& fix) {
    throw Error("INVALID_OPTION", name + ": received " + std::to_string(value) + "; " + fix);
  };
  if (change.alpha && *change.alpha && !(**change.alpha > 0 && **change.alpha < 1))
    refuse("alpha", **change.alpha, "give a number between 0 and 1, or null");
  if (change.momentum && !(*change.momentum >= 0 && *change.momentum < 1))
    refuse("momentum", *change.momentum, "give a number from 0 to below 1");
  const std::lock_guard lock(mutex_);
  if (const int64_t most = longest_period(); change.period && (*change.period < 1 || *change.period > most))
    throw Error("INVALID_OPTION",
                "period: received " + std::to_string(*change.period) + "; give a whole number from 1 to " + std::to_string(most));
  refuse_in_progress();
  if (change.alpha || change.momentum) change_averaging(change);
  if (change.period) schedule_.set_period(*change.period, round_, iteration_);
  schedule_changed();
}

void GroupState::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.announce();
}

std::vector<float> GroupState::losses(int64_t from_iteration) const {
  const std::lock_guard lock(mutex_);
  return losses_.between(from_iteration, whole_iterations());
}

std::vector<RoundFigures> GroupState::round_figures(int64_t after) {
  const std::lock_guard lock(mutex_);
  if (!recorder_.is_recording()) prepare_recording();
  return recorder_.take_after(after);
}

std::vector<RoundFigures> GroupState::sampled_figures(int64_t after) {
  const std::lock_guard lock(mutex_);
  if (!recorder_.is_recording()) prepare_recording();
  return recorder_.sample_after(after);
}

void GroupState::read_central(std::byte* canonical) const {
  const Memory copy(backend_, spec_.layout.bytes);
  copy_central(0, copy);
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

bool GroupState::add_loss(int64_t iteration, double loss) {
  if (losses_.add(iteration, loss)) return true;
  stopped_ = true;
  changed_.announce();
  return false;
}

void GroupState::capture_progress(Snapshot& snapshot) const {
  snapshot.count("round", round_);
  snapshot.count("iteration", iteration_);
  snapshot.count("position", static_cast<int64_t>(position_));
}

void GroupState::restore_progress(const Snapshot& snapshot) {
  snapshot.check_place();
  round_ = snapshot.counted("round");
  iteration_ = snapshot.counted("iteration");
  position_ = static_cast<uint64_t>(snapshot.counted("position"));
  schedule_.resume_at(round_, iteration_);
}

}  // namespace arbalest
