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
  // All learners finish a round that one of them has entered: one that stopped before it would hold up the others.
  schedule_.set_pause(std::max(round, unopened_round()));
  changed_.notify_all();
}

void GroupState::set_end(int64_t iterations) {
  const std::lock_guard lock(mutex_);
  schedule_.set_end(iterations);
}

void GroupState::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::vector<float> GroupState::losses(int64_t from_iteration) const {
  const std::lock_guard lock(mutex_);
  return losses_.between(from_iteration, whole_iterations());
}

void GroupState::read_central(std::byte* canonical) const {
  const Memory copy(backend_, spec_.layout.bytes);
  copy_central(0, copy);
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

bool GroupState::add_loss(int64_t iteration, double loss) {
  if (losses_.add(iteration, loss)) return true;
  stopped_ = true;
  changed_.notify_all();
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
