// Who belongs to a synchronous group, from which round until which, and where each of them stands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device/vectors.h"
#include "sync/group.h"

namespace arbalest {

struct Member {
  int64_t until = Group::kNever;  // first round that it no longer takes part in
  int64_t round = 0, step = 0;    // where it stands
  int64_t length = 1;             // iterations of its round
  int64_t iterations = 0;         // whole ones, counted from the group's first
  bool fresh = true;
  size_t device = 0;
  std::shared_ptr<Memory> slot;

  bool is_gone() const { return round >= until; }
  bool takes_part(int64_t number) const { return round <= number && number < until; }
};

class Members {
 public:
  // Throws INVALID_STATE for a learner that takes part already.
  void check_absent(int learner) const;
  // In the place of one that has left.
  void add(int learner, Member member);
  // Throws INVALID_STATE for a learner that is no member.
  void leave(int learner, int64_t until);
  // What others have done stays done when nobody is left.
  void evict(int learner);

  // Null for a learner that is no member.
  Member* find(int learner);
  Member& at(int learner) { return by_learner_.at(learner); }
  bool has(int learner) const { return by_learner_.count(learner) != 0; }
  size_t size() const { return by_learner_.size(); }

  // In learner order.
  std::vector<int> of_round(int64_t number) const;
  const std::map<int, Member>& by_learner() const { return by_learner_; }

  // That all of them have made. Whoever has left does not hold back those who go on.
  int64_t whole_iterations() const;
  // Nobody is there: those of whoever was before.
  void resume_at(int64_t iterations) { departed_iterations_ = iterations; }
  // All begin at the central model, with an optimiser as new.
  void refresh();

 private:
  std::map<int, Member> by_learner_;
  int64_t departed_iterations_ = 0;  // whole iterations when nobody is left
};

}  // namespace arbalest
