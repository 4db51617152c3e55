#include "sync/synchronous_group.h"

#include <algorithm>

#include "sync/buckets.h"

namespace arbalest {
namespace {

// Small enough that the levels work on several at once, large enough that handing it on costs little beside its bandwidth.
constexpr size_t kLevelBucket = size_t{4} << 20;

std::vector<Bucket> buckets_for(const GroupSpec& spec) {
  if (spec.synchronous->central == CentralRule::optimiser) return buckets_of(spec.layout);
  const size_t elements = spec.layout.length();
  return spec.levels.empty() ? std::vector<Bucket>{{0, elements}} : buckets_of(elements, kLevelBucket / size_of(spec.layout.type()));
}

}  // namespace

SynchronousGroup::SynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical)
    : backend_(backend),
      spec_(std::move(spec)),
      course_(rule()),
      averaging_(backend_, spec_, buckets_for(spec_), initial_canonical, mutex_, changed_, [this] { finish_round(); }) {}

void SynchronousGroup::check_device(int device) const {
  if (device < 0 || device >= spec_.devices)
    throw Error("INVALID_OPTION", "device: received " + std::to_string(device) + "; the group has " + std::to_string(spec_.devices) +
                                      ": give a number from 0 to below that");
}

int64_t SynchronousGroup::join(int learner, bool resumed, int device) {
  check_device(device);
  const std::lock_guard lock(mutex_);
  members_.check_absent(learner);
  Member member;
  member.round = last_opened() + 1;
  member.iterations = course_.first_iteration(member.round);
  member.fresh = !resumed;
  member.device = static_cast<size_t>(device);
  if (takes_copies()) member.slot = std::make_shared<Memory>(averaging_.backend(member.device), spec_.layout.bytes);
  const int64_t from = member.round;
  members_.add(learner, std::move(member));
  return from;
}

int64_t SynchronousGroup::leave(int learner) {
  const std::lock_guard lock(mutex_);
  const int64_t until = last_opened() + 1;
  members_.leave(learner, until);
  changed_.notify_all();
  return until;
}

void SynchronousGroup::evict(int learner) {
  std::unique_lock lock(mutex_);
  members_.evict(learner);
  rounds_.evict(learner);
  advance();
  changed_.notify_all();
  averaging_.help(lock);
}

void SynchronousGroup::set_rates(int64_t from_iteration, std::span<const float> rates) {
  const std::lock_guard lock(mutex_);
  course_.set_rates(from_iteration, rates);
}

void SynchronousGroup::set_restarts(std::vector<int64_t> rounds) {
  const std::lock_guard lock(mutex_);
  course_.set_restarts(rounds);
}

void SynchronousGroup::set_pause(int64_t round) {
  const std::lock_guard lock(mutex_);
  // A round that somebody has entered is finished by all: whoever stopped before it would hold up the others.
  course_.set_pause(round == kNever ? kNever : std::max(round, last_opened() + 1));
  changed_.notify_all();
}

void SynchronousGroup::set_end(int64_t iterations) {
  const std::lock_guard lock(mutex_);
  course_.set_end(iterations);
}

void SynchronousGroup::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

GroupStatus SynchronousGroup::status() const {
  const std::lock_guard lock(mutex_);
  GroupStatus status{round_, members_.whole_iterations(), position_, {}, rounds_.arrived(), not_finite_at_};
  for (const auto& [learner, member] : members_.by_learner())
    if (!member.is_gone()) status.members.push_back(learner);
  return status;
}

int64_t SynchronousGroup::iteration_of(int learner) const {
  const std::lock_guard lock(mutex_);
  const auto found = members_.by_learner().find(learner);
  return found == members_.by_learner().end() ? members_.whole_iterations() : found->second.iterations;
}

std::vector<float> SynchronousGroup::losses(int64_t from_iteration) const {
  const std::lock_guard lock(mutex_);
  return losses_.between(from_iteration, members_.whole_iterations());
}

void SynchronousGroup::read_central(std::byte* canonical) const {
  Memory copy(backend_, spec_.layout.bytes);
  copy_central(copy.data());
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

void SynchronousGroup::read_device_central(int device, std::byte* canonical) const {
  check_device(device);
  const auto number = static_cast<size_t>(device);
  Backend& backend = averaging_.backend(number);
  Memory copy(backend, spec_.layout.bytes);
  {
    const std::lock_guard lock(mutex_);
    averaging_.follow(number);
    backend.copy(copy.data(), averaging_.central(number).weights(round_), spec_.layout.bytes);
    backend.synchronise();
  }
  to_canonical(backend, spec_.layout, copy.data(), canonical);
}

// For a thread that uses no stream: each device's own goes on after what its round has queued.
void SynchronousGroup::follow_all() const {
  for (size_t device = 0; device < averaging_.devices(); ++device) averaging_.follow(device);
}

void SynchronousGroup::refuse_in_progress() const {
  if (!rounds_.empty())
    throw Error("INVALID_STATE",
                "central model: round " + std::to_string(rounds_.front().number) + " is in progress; pause the group first");
}

void SynchronousGroup::capture(Snapshot& snapshot) const {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  averaging_.follow(0);
  snapshot.count("round", round_);
  snapshot.count("iteration", iteration_);
  snapshot.count("position", static_cast<int64_t>(position_));
  for (const auto& [learner, member] : members_.by_learner())
    if (!member.is_gone()) snapshot.count("fresh." + std::to_string(learner), member.fresh);
  averaging_.central().capture(round_, snapshot);
}

void SynchronousGroup::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  if (members_.size() > 0) throw Error("INVALID_STATE", "group: it has members; restore it before anybody joins");
  follow_all();
  snapshot.check_place();
  round_ = snapshot.counted("round");
  iteration_ = snapshot.counted("iteration");
  position_ = static_cast<uint64_t>(snapshot.counted("position"));
  course_.resume_at(round_, iteration_);
  members_.resume_at(iteration_);
  whole_rounds_.store(round_, std::memory_order_release);
  averaging_.restore(round_, snapshot);
}

void SynchronousGroup::write_central(const std::byte* canonical) {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  follow_all();
  averaging_.restart(canonical);
  members_.refresh();
}

bool SynchronousGroup::is_finite() const {
  const size_t elements = spec_.layout.length();
  const std::lock_guard lock(mutex_);
  averaging_.follow(0);
  const CentralModel& central = averaging_.central();
  const std::byte *const own = central.weights(round_), *const evaluated = central.evaluated(round_);
  const auto is_sound = [&](const std::byte* model) { return are_finite(backend_, spec_.layout.type(), model, 0, elements); };
  return is_sound(own) && (evaluated == own || is_sound(evaluated));
}

int64_t SynchronousGroup::copy_central(std::byte* vector) const {
  const std::lock_guard lock(mutex_);
  averaging_.follow(0);
  backend_.copy(vector, averaging_.central().evaluated(round_), spec_.layout.bytes);
  backend_.synchronise();
  return round_;
}

}  // namespace arbalest
