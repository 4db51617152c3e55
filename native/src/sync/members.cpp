#include "sync/members.h"

#include <algorithm>
#include <string>

namespace arbalest {

void Members::check_absent(int learner) const {
  const auto found = by_learner_.find(learner);
  if (found != by_learner_.end() && !found->second.is_gone())
    throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is already a member of the group; let it leave first");
}

void Members::add(int learner, Member member) {
  check_absent(learner);
  by_learner_.insert_or_assign(learner, std::move(member));
}

void Members::leave(int learner, int64_t until) {
  Member* const member = find(learner);
  if (!member) throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is not a member of the group; it cannot leave");
  member->until = until;
}

void Members::evict(int learner) {
  departed_iterations_ = whole_iterations();
  by_learner_.erase(learner);
}

Member* Members::find(int learner) {
  const auto found = by_learner_.find(learner);
  return found == by_learner_.end() ? nullptr : &found->second;
}

std::vector<int> Members::of_round(int64_t number) const {
  std::vector<int> learners;
  for (const auto& [learner, member] : by_learner_)
    if (member.takes_part(number)) learners.push_back(learner);
  return learners;
}

int64_t Members::whole_iterations() const {
  int64_t least = Group::kNever, gone = departed_iterations_;
  for (const auto& [learner, member] : by_learner_) {
    if (member.is_gone())
      gone = std::max(gone, member.iterations);
    else
      least = std::min(least, member.iterations);
  }
  return least == Group::kNever ? gone : least;
}

void Members::refresh() {
  for (auto& [learner, member] : by_learner_) member.fresh = true;
}

}  // namespace arbalest
