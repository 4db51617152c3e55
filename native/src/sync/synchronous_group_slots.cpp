// The slots of a synchronous group's members: what a learner has brought to the rounds that may still be open under slack.
#include <algorithm>
#include <map>
#include <string>

#include "sync/synchronous_group.h"

namespace arbalest {
namespace {

// The name, in a snapshot, of the update that a member brought `age` rounds ago. `place` counts the members from 0 in the order in which
// they joined. A resumed run gives its learners new numbers in the same order.
std::string name_of(int place, int64_t age) { return "update." + std::to_string(place) + "." + std::to_string(age); }

}  // namespace

std::vector<std::shared_ptr<Memory>> SynchronousGroup::make_slots(size_t device) const {
  std::vector<std::shared_ptr<Memory>> slots;
  for (int64_t i = 0; i <= rule().slack; ++i) slots.push_back(std::make_shared<Memory>(averaging_.backend(device), spec_.layout.bytes));
  return slots;
}

void SynchronousGroup::give_slots(RoundMember& member, bool resumed) {
  if (!fills_slots()) return;
  member.first = member.round;
  member.slots = make_slots(member.device);
  if (!resumed || resumable_.empty()) return;
  // They were restored on the first device.
  Backend& backend = averaging_.backend(member.device);
  member.first = resumable_.front().first;
  for (size_t i = 0; i < member.slots.size(); ++i) copy_across(*resumable_.front().slots[i], *member.slots[i], 0, spec_.layout.bytes);
  backend.synchronise();
  resumable_.pop_front();
}

void SynchronousGroup::capture_slots(Snapshot& snapshot) const {
  if (!rule().read_my_writes) return;
  int place = 0;
  for (const int learner : learners_as_joined()) {
    const RoundMember& member = *members_.find(learner);
    // It does not resume: it begins at the central model.
    if (member.fresh) continue;
    snapshot.count("first." + std::to_string(place), member.first);
    for (int64_t age = 1; age <= rule().slack; ++age) snapshot.keep(name_of(place, age), *member.slot_before(round_, age));
    ++place;
  }
}

void SynchronousGroup::restore_slots(const Snapshot& snapshot) {
  resumable_.clear();
  if (!rule().read_my_writes) return;
  std::map<int, RoundMember> resumable;
  for (const int place : snapshot.numbers("first.")) {
    RoundMember& member = resumable[place];
    member.first = snapshot.counted("first." + std::to_string(place));
    member.slots = make_slots(0);
    for (int64_t age = 1; age <= rule().slack; ++age) snapshot.give(name_of(place, age), *member.slot_before(round_, age));
  }
  for (auto& [place, member] : resumable) resumable_.push_back(std::move(member));
}

std::vector<std::shared_ptr<Memory>> SynchronousGroup::own_updates(int learner, const Ticket& ticket) const {
  std::vector<std::shared_ptr<Memory>> updates;
  const RoundMember* const member = members_.find(learner);
  if (!rule().read_my_writes || !member) return updates;
  for (int64_t round = std::max(ticket.model, member->first); round < ticket.round; ++round) updates.push_back(member->slot(round));
  return updates;
}

void SynchronousGroup::copy_to_slot(int learner, const Ticket& ticket, size_t bucket, const LearnerVectors& vectors) {
  std::shared_ptr<Memory> slot;
  {
    const std::lock_guard lock(mutex_);
    if (rounds_.awaits(learner, ticket.device, ticket.round, bucket)) slot = members_.at(learner).slot(ticket.round);
  }
  if (!slot) return;
  const size_t size = size_of(spec_.layout.type());
  const auto& [begin, end] = averaging_.buckets()[bucket];
  averaging_.backend(ticket.device).copy(slot->data() + begin * size, vectors.gradients->data() + begin * size, (end - begin) * size);
  arrive(learner, ticket.device, ticket.round, bucket, {slot});
}

}  // namespace arbalest
