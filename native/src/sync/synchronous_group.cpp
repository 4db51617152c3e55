#include "sync/synchronous_group.h"

#include <algorithm>
#include <map>

#include "core/buckets.h"

namespace arbalest {

std::vector<Bucket> level_buckets(const SynchronousRule& rule, const ParameterLayout& layout, bool pulls, const BucketSizes& sizes) {
  if (rule.central != CentralRule::optimiser) return level_buckets(layout.length(), layout.type(), sizes);
  const bool by_parts = pulls && !rule.pulls_whole && rule.slack == 0;
  return by_parts ? by_need(buckets_of(layout, sizes)) : buckets_of(layout, sizes);
}

namespace {

std::vector<Bucket> buckets_for(Backend& backend, const GroupSpec& spec) {
  const bool is_whole = spec.levels.empty() && spec.synchronous->central != CentralRule::optimiser;
  if (is_whole) return {{0, spec.layout.length()}};
  const bool has_streams = backend.capabilities().streams;
  return level_buckets(*spec.synchronous, spec.layout, !spec.levels.empty() && !has_streams, has_streams ? kOfStreams : kOfThreads);
}

}  // namespace

SynchronousGroup::SynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical)
    : GroupState(backend, std::move(spec)),
      alpha_(spec_.synchronous->alpha),
      averaging_(
          backend_, spec_, buckets_for(backend_, spec_), initial_canonical,
          [this](const BucketReduction& reduction) { take_sum(reduction); },
          [this](std::exception_ptr failure) {
            const std::lock_guard lock(mutex_);
            fail(std::move(failure));
          }) {
  // Without the lock: where it fails, it waits for the hosts' thread, which may just be waiting for the lock in hear().
  std::unique_ptr<Agreement> agreement = agreement_for_hosts();
  if (!agreement) return;
  const std::lock_guard lock(mutex_);
  agreement_ = std::move(agreement);
  // What has come before was not heard.
  if (std::exception_ptr failure = agreement_->failure()) fail(std::move(failure));
  go_on();
}

void SynchronousGroup::check_device(int device) const {
  if (device < 0 || device >= spec_.devices)
    throw Error("INVALID_OPTION", "device: received " + std::to_string(device) + "; the group has " + std::to_string(spec_.devices) +
                                      ": give a number from 0 to below that");
}

int64_t SynchronousGroup::join(int learner, bool resumed, int device) {
  check_device(device);
  const std::lock_guard lock(mutex_);
  members_.check_absent(learner);
  departures_.erase(learner);
  RoundMember member;
  member.joined = joined_++;
  member.round = std::max(unopened_round(), agreement_ ? agreement_->untold(round_) : 0);
  member.iteration = schedule_.first_iteration(member.round);
  member.fresh = !resumed;
  member.device = static_cast<size_t>(device);
  if (contributes_copies()) member.contribution = std::make_shared<Memory>(averaging_.backend(member.device), spec_.layout.bytes);
  give_slots(member, resumed);
  if (recorder_.is_recording()) member.difference = difference_for(member);
  const int64_t from = member.round;
  members_.add(learner, std::move(member));
  return from;
}

std::optional<Departure> SynchronousGroup::evict(int learner, std::optional<Departure> planned) {
  Lock lock(mutex_);
  RoundMember* const member = members_.find(learner);
  if (member && planned && !agreement_ && leaves_early(*member, *planned)) member->departs = std::move(planned);
  remove(lock, learner);
  const auto found = departures_.find(learner);
  return found == departures_.end() || agreement_ ? std::nullopt : std::optional(found->second);
}

void SynchronousGroup::remove(Lock& lock, int learner) {
  if (RoundMember* const member = members_.find(learner)) {
    const Departure departure = member->departs.value_or(departure_of(learner, *member));
    departures_.insert_or_assign(learner, departure);
    departed_iterations_ = own_iterations();
    if (member->departs && unopened_round() < departure.until) counted_.emplace(learner, std::move(*member));
  }
  recorder_.evict(learner);
  members_.remove(learner);
  rounds_.evict(learner);
  advance();
  go_on();
  changed_.announce();
  help(lock);
}

bool SynchronousGroup::may_depart(const RoundMember& member, const Departure& departure) const {
  return departure.round == member.round && departure.until > departure.round &&
         departure.until <= departure.round + kMostOpen + rule().slack;
}

bool SynchronousGroup::leaves_early(const RoundMember& member, const Departure& planned) const {
  return may_depart(member, planned) && member.iteration_in_round == planned.iterations && planned.brought.empty() &&
         unopened_round() <= planned.round;
}

Departure SynchronousGroup::departure_of(int learner, const RoundMember& member) const {
  return {member.round, schedule_.first_iteration(member.round), member.iteration_in_round, std::max(unopened_round(), member.round),
          rounds_.brought(member.round, learner)};
}

void SynchronousGroup::depart(int learner, Departure departure) {
  const std::lock_guard lock(mutex_);
  if (agreement_) throw Error("INVALID_STATE", "departure: over hosts it cannot be repeated");
  refuse_in_progress();
  RoundMember* const member = members_.find(learner);
  if (!member) throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is no member of the group");
  if (!may_depart(*member, departure))
    throw Error("INVALID_OPTION", "departure: received round " + std::to_string(departure.round) + " until round " +
                                      std::to_string(departure.until) + "; the next round is " + std::to_string(member->round) +
                                      ": give that one, and one or two rounds");
  member->departs = std::move(departure);
}

void SynchronousGroup::set_restarts(std::vector<int64_t> rounds) {
  const std::lock_guard lock(mutex_);
  schedule_.set_restarts(rounds);
}

std::vector<int> SynchronousGroup::learners_as_joined() const {
  std::vector<std::pair<int64_t, int>> in_order;
  in_order.reserve(members_.size());
  for (const auto& [learner, member] : members_) in_order.emplace_back(member.joined, learner);
  std::ranges::sort(in_order);
  std::vector<int> learners;
  learners.reserve(in_order.size());
  for (const auto& [joined, learner] : in_order) learners.push_back(learner);
  return learners;
}

GroupStatus SynchronousGroup::status() const {
  const std::lock_guard lock(mutex_);
  return {round_, whole_iterations(), position_, learners_as_joined(), rounds_.arrived(), losses_.not_finite_at()};
}

int64_t SynchronousGroup::iteration_of(int learner) const {
  const std::lock_guard lock(mutex_);
  const RoundMember* const member = members_.find(learner);
  return member ? member->iteration : whole_iterations();
}

int64_t SynchronousGroup::whole_iterations() const { return agreement_ ? told_iterations_ : own_iterations(); }

int64_t SynchronousGroup::own_iterations() const {
  // A round that the last member has left is finished without it.
  if (members_.empty()) return std::max(departed_iterations_, iteration_);
  int64_t least = kNever;
  for (const auto& [learner, member] : members_) least = std::min(least, member.iteration);
  return least;
}

void SynchronousGroup::follow_all() const {
  for (size_t device = 0; device < averaging_.devices(); ++device) averaging_.follow(device);
}

void SynchronousGroup::refuse_in_progress() const {
  if (!rounds_.empty())
    throw Error("INVALID_STATE",
                "central model: round " + std::to_string(rounds_.front().number) + " is in progress; pause the group first");
  if (agreement_ && agreement_->phase() != Agreement::Phase::resting)
    throw Error("INVALID_STATE", "central model: the other hosts are in round " + std::to_string(round_) + "; pause the group first");
}

void SynchronousGroup::change_averaging(const RuleChange& change) {
  if (rule().central != CentralRule::sma)
    throw Error("INVALID_OPTION", std::string(change.alpha ? "alpha" : "momentum") +
                                      ": the group's rule keeps what it began with; only synchronous model averaging takes another");
  if (change.alpha) alpha_ = *change.alpha;
  if (change.momentum) averaging_.set_momentum(*change.momentum);
}

std::shared_ptr<Memory> SynchronousGroup::difference_for(const RoundMember& member) const {
  return takes_gradients() ? nullptr : std::make_shared<Memory>(averaging_.backend(member.device), spec_.layout.bytes);
}

void SynchronousGroup::prepare_recording() {
  std::map<int, std::shared_ptr<Memory>> taken;
  for (const auto& [learner, member] : members_) taken.emplace(learner, difference_for(member));
  for (auto& [learner, difference] : taken) members_.at(learner).difference = std::move(difference);
}

void SynchronousGroup::capture(Snapshot& snapshot) const {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  averaging_.follow(0);
  capture_progress(snapshot);
  for (const auto& [learner, member] : members_) snapshot.count("fresh." + std::to_string(learner), member.fresh);
  averaging_.central().capture(round_, snapshot);
  capture_slots(snapshot);
}

void SynchronousGroup::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  if (!members_.empty()) throw Error("INVALID_STATE", "group: it has members; restore it before any learner joins");
  follow_all();
  restore_progress(snapshot);
  departed_iterations_ = iteration_;
  told_iterations_ = own_told_iterations_ = iteration_;
  whole_rounds_.store(round_, std::memory_order_release);
  averaging_.restore(round_, snapshot);
  restore_slots(snapshot);
}

void SynchronousGroup::write_central(const std::byte* canonical) {
  const std::lock_guard lock(mutex_);
  refuse_in_progress();
  follow_all();
  averaging_.replace(canonical);
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

int64_t SynchronousGroup::copy_central(size_t device, const Memory& vector) const {
  // The first device alone keeps the evaluation average, for all of them.
  const size_t source = spec_.average || device >= averaging_.devices() ? 0 : device;
  Backend& backend = averaging_.backend(source);
  const std::lock_guard lock(mutex_);
  const std::byte* const model = averaging_.central(source).evaluated(round_);
  if (vector.device() == &backend) {
    averaging_.follow(source);
    backend.copy(vector.data(), model, spec_.layout.bytes);
    backend.synchronise();
    return round_;
  }
  std::vector<std::byte> between(spec_.layout.bytes);
  {
    // The calling thread's stream is one of the other device.
    const UsedStream used(backend, nullptr);
    averaging_.follow(source);
    backend.read(between.data(), model, between.size());
  }
  vector.device()->write(vector.data(), between.data(), between.size());
  return round_;
}

}  // namespace arbalest
