// The rounds of a synchronous group: opens them, hands what has arrived for them to the averaging, and finishes them.
#include <algorithm>

#include "sync/synchronous_group.h"

namespace arbalest {

OpenRound& SynchronousGroup::open(int64_t number) {
  if (OpenRound* const found = rounds_.find(number)) return *found;
  // Over hosts a learner may join later than at the next round, and enter before the others have opened those in between.
  while (unopened_round() < number) open(unopened_round());
  OpenRound round;
  round.number = number;
  round.length = schedule_.length(number);
  round.position = position_;
  round.restarts = schedule_.restarts(number);
  const auto members = members_in(number);
  for (const auto& [learner, member] : members) {
    round.members.push_back(learner);
    round.devices.push_back(member->device);
  }
  round.learners = agreement_ ? agreement_->learners(number) : static_cast<int64_t>(round.members.size());
  round.alpha = alpha_.value_or(std::min(1.0 / static_cast<double>(std::max<int64_t>(round.learners, 1)), 0.5));
  position_ += static_cast<uint64_t>(round.learners * round.length * spec_.batch);
  round.next_position = position_;
  OpenRound& opened = rounds_.open(std::move(round), averaging_.buckets().size(), averaging_.devices());
  for (const auto& [learner, member] : counted_) rounds_.evict(learner);
  averaging_.set_present(number, opened.present);
  recorder_.open(number, schedule_.first_iteration(number), opened.members);
  for (const auto& [learner, member] : counted_) recorder_.evict(learner);
  std::erase_if(counted_, [&](const auto& left) { return left.second.departs->until <= number + 1; });
  return opened;
}

std::vector<std::pair<int, const RoundMember*>> SynchronousGroup::members_in(int64_t round) const {
  std::vector<std::pair<int, const RoundMember*>> found;
  if (agreement_ && stopped_) return found;
  for (const auto& [learner, member] : members_)
    if (member.round <= round && (!member.departs || round < member.departs->until)) found.emplace_back(learner, &member);
  for (const auto& [learner, member] : counted_)
    if (round < member.departs->until) found.emplace_back(learner, &member);
  std::ranges::sort(found, {}, [](const auto& each) { return each.second->joined; });
  return found;
}

void SynchronousGroup::begin_round(OpenRound& round) {
  round.begun = true;
  const int64_t first = schedule_.first_iteration(round.number);
  averaging_.begin({round.number, first, round.position, round.next_position, schedule_.rate(first + round.length - 1), round.restarts},
                   round.present.size());
}

// An error ends the group, not the caller alone: the other learners would wait for a sum of this round that never comes.
void SynchronousGroup::advance() {
  try {
    take_complete_gatherings();
  } catch (...) {
    fail(std::current_exception());
  }
}

void SynchronousGroup::take_complete_gatherings() {
  if (rounds_.empty()) return;
  OpenRound& round = rounds_.front();
  // Over hosts there are rounds without learners of this process.
  if (!round.begun && round.present.empty()) begin_round(round);
  for (size_t bucket = 0; bucket < round.buckets.size(); ++bucket)
    for (size_t device = 0; device < averaging_.devices(); ++device) {
      Gathering& gathering = round.buckets[bucket][device];
      if (gathering.complete || !gathering.pending.empty()) continue;
      gathering.complete = true;
      if (!round.begun) begin_round(round);
      averaging_.take_contributions(bucket, device, gathering.contributions(round.members));
      changed_.announce();
    }
}

void SynchronousGroup::finish_round() {
  iteration_ = schedule_.first_iteration(round_) + rounds_.front().length;
  if (recorder_.measures(round_)) record_distances(rounds_.front());
  recorder_.finish(round_, averaging_.take_pass_seconds());
  rounds_.close_front();
  whole_rounds_.store(++round_, std::memory_order_release);
  advance();  // where the next round's members are all gone
  go_on();
  changed_.announce();
}

void SynchronousGroup::help(Lock& lock) {
  try {
    while (const auto pass = averaging_.next_pass()) {
      lock.unlock();
      const bool last = averaging_.work_on(*pass);
      lock.lock();
      if (!last) continue;
      if (averaging_.finish(*pass))
        finish_round();
      else
        changed_.announce();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    fail(std::current_exception());
  }
}

void SynchronousGroup::record_distance(int learner, const Ticket& ticket, const Memory& weights) {
  std::shared_ptr<Memory> difference;
  {
    const std::lock_guard lock(mutex_);
    const RoundMember* const member = members_.find(learner);
    if (!member || !member->difference || !recorder_.measures(ticket.round)) return;
    difference = member->difference;
  }
  const Clock::time_point from = Clock::now();
  const double distance = averaging_.distance(ticket.device, ticket.model, weights, *difference);
  const std::lock_guard lock(mutex_);
  recorder_.add_cost(seconds_since(from));
  recorder_.set_distance(ticket.round, learner, distance);
}

void SynchronousGroup::record_distances(const OpenRound& round) {
  if (takes_gradients())
    for (int learner : round.members) recorder_.set_distance(round.number, learner, 0);
  if (!rule().lockstep) return;
  const UsedStream used = averaging_.use_stream(0);
  const Clock::time_point from = Clock::now();
  for (const auto& [learner, contribution] : round.buckets.front().front().arrived) {
    const RoundMember* const member = members_.find(learner);
    if (!member || !member->difference || !contribution.due) continue;
    recorder_.set_distance(round.number, learner,
                           averaging_.distance(0, round.number, *contribution.due->learner.weights, *member->difference));
  }
  recorder_.add_cost(seconds_since(from));
}

void SynchronousGroup::take_sum(const BucketReduction& reduction) {
  Lock lock(mutex_);
  averaging_.take_sum(reduction);
  changed_.announce();
  help(lock);
}

void SynchronousGroup::fail(std::exception_ptr failure) {
  averaging_.fail(std::move(failure));
  changed_.announce();
}

}  // namespace arbalest
