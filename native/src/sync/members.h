// The members of a group by learner number. Each kind of group adds its members' progress to `Member`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/parameter_vectors.h"

namespace arbalest {

struct Member {
  int64_t iteration = 0;                 // of the run: the present one, or the one after its last
  bool fresh = true;                     // it begins its next step at the central model, with a restarted optimiser
  std::shared_ptr<Memory> contribution;  // its vector for the central model; null if the group reads the member's weights
};

template <class Member> class Members {
 public:
  // Throws INVALID_STATE for a learner that is a member already.
  void check_absent(int learner) const {
    if (has(learner))
      throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is already a member of the group; evict it first");
  }
  void add(int learner, Member member) {
    check_absent(learner);
    by_learner_.emplace(learner, std::move(member));
  }
  void remove(int learner) { by_learner_.erase(learner); }

  bool has(int learner) const { return by_learner_.count(learner) != 0; }
  // Null for a learner that is no member.
  Member* find(int learner) {
    const auto found = by_learner_.find(learner);
    return found == by_learner_.end() ? nullptr : &found->second;
  }
  const Member* find(int learner) const { return const_cast<Members*>(this)->find(learner); }
  Member& at(int learner) { return by_learner_.at(learner); }

  bool empty() const { return by_learner_.empty(); }
  size_t size() const { return by_learner_.size(); }
  // Learners and members, in learner order.
  auto begin() const { return by_learner_.begin(); }
  auto end() const { return by_learner_.end(); }
  std::vector<int> learners() const {
    std::vector<int> learners;
    for (const auto& [learner, member] : by_learner_) learners.push_back(learner);
    return learners;
  }

  // The central model has been replaced: all of them begin at it.
  void refresh() {
    for (auto& [learner, member] : by_learner_) member.fresh = true;
  }

 private:
  std::map<int, Member> by_learner_;
};

}  // namespace arbalest
