#include "sync/asynchronous_group.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace arbalest {
namespace {

// A waiting thread looks at its flags this often.
constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

AsynchronousGroup::AsynchronousGroup(Backend& backend, GroupSpec spec, const std::byte* initial_canonical)
    : backend_(backend), spec_(std::move(spec)), central_(backend_, spec_, initial_canonical), starts_(rule().period, 0) {}

int64_t AsynchronousGroup::join(int learner, bool resumed, int) {
  const std::lock_guard lock(mutex_);
  if (members_.count(learner) != 0)
    throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is already a member of the group; let it leave first");
  Member member;
  // Whoever comes later is not waited for as if it were behind.
  int64_t slowest = kNever;
  for (const auto& [id, each] : members_) slowest = std::min(slowest, each.clock);
  member.clock = slowest == kNever ? 0 : slowest;
  member.fresh = !resumed;
  member.iteration = whole_iterations();
  // Learners have other numbers in a run that goes on, and the same order.
  if (resumed && !resumable_.empty()) {
    member.own = resumable_.front().own;
    member.accumulated = resumable_.front().accumulated;
    resumable_.pop_front();
  }
  if (!rule().in_place && !member.accumulated) member.accumulated = std::make_shared<Memory>(backend_, spec_.layout.bytes);
  members_.emplace(learner, std::move(member));
  return next_round();
}

int64_t AsynchronousGroup::leave(int learner) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end())
    throw Error("INVALID_STATE", "learner: " + std::to_string(learner) + " is not a member of the group; it cannot leave");
  found->second.until = opened_;
  changed_.notify_all();
  return opened_;
}

void AsynchronousGroup::evict(int learner) {
  std::unique_lock lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end()) return;
  give_back(found->second);
  members_.erase(found);
  changed_.notify_all();
  close_rounds(lock);
}

void AsynchronousGroup::set_rates(int64_t from_iteration, std::span<const float> rates) {
  const std::lock_guard lock(mutex_);
  rates_.set(from_iteration, rates);
}

void AsynchronousGroup::set_restarts(std::vector<int64_t> rounds) {
  if (!rounds.empty()) throw Error("INVALID_OPTION", "restarts: received some; asynchronous learners have no common start");
}

void AsynchronousGroup::set_pause(int64_t round) {
  const std::lock_guard lock(mutex_);
  pause_ = round == kNever ? kNever : std::max(round, opened_);
  changed_.notify_all();
}

void AsynchronousGroup::set_end(int64_t iterations) {
  const std::lock_guard lock(mutex_);
  end_ = iterations;
}

void AsynchronousGroup::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

GroupStatus AsynchronousGroup::status() const {
  const std::lock_guard lock(mutex_);
  GroupStatus status{whole_, whole_iterations(), position_, {}, {}, not_finite_at_};
  for (const auto& [id, member] : members_)
    if (next_round() < member.until || member.ticket) status.members.push_back(id);
  return status;
}

int64_t AsynchronousGroup::iteration_of(int learner) const {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(learner);
  return found == members_.end() ? whole_iterations() : found->second.iteration;
}

std::vector<float> AsynchronousGroup::losses(int64_t from_iteration) const {
  const std::lock_guard lock(mutex_);
  return losses_.between(from_iteration, whole_iterations());
}

void AsynchronousGroup::read_central(std::byte* canonical) const {
  Memory copy(backend_, spec_.layout.bytes);
  copy_central(copy.data());
  to_canonical(backend_, spec_.layout, copy.data(), canonical);
}

void AsynchronousGroup::write_central(const std::byte* canonical) {
  std::unique_lock lock(mutex_);
  await_last_pushes(lock);
  if (!all_over()) throw Error("INVALID_STATE", "central model: learners are in the middle of iterations; pause the group first");
  central_.restart(canonical);
  for (auto& [id, member] : members_) member.fresh = true;
}

int64_t AsynchronousGroup::copy_central(std::byte* vector) const {
  central_.fetch_evaluated(vector);
  const std::lock_guard lock(mutex_);
  return whole_;
}

void AsynchronousGroup::capture(Snapshot& snapshot) const {
  std::unique_lock lock(mutex_);
  await_last_pushes(lock);
  if (!rounds_.empty())
    throw Error("INVALID_STATE",
                "central model: round " + std::to_string(rounds_.begin()->first) + " is in progress; pause the group first");
  snapshot.count("round", whole_);
  snapshot.count("iteration", iteration_);
  snapshot.count("position", static_cast<int64_t>(position_));
  central_.capture(snapshot);
  for (const auto& [id, member] : members_) {
    snapshot.count("fresh." + std::to_string(id), member.fresh);
    snapshot.count("own." + std::to_string(id), member.own);
    if (member.accumulated) snapshot.keep("accumulated." + std::to_string(id), *member.accumulated);
  }
}

void AsynchronousGroup::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  if (!members_.empty()) throw Error("INVALID_STATE", "group: it has members; restore it before anybody joins");
  snapshot.check_place();
  const std::string prefix = "own.";
  std::map<int, Member> resumable;
  for (const auto& [name, own] : snapshot.counts()) {
    if (!name.starts_with(prefix)) continue;
    const std::string id = name.substr(prefix.size());
    int learner = 0;
    const auto [end, fault] = std::from_chars(id.data(), id.data() + id.size(), learner);
    if (fault != std::errc() || end != id.data() + id.size())
      throw Error("SHAPE_MISMATCH", "snapshot: it has a count " + name + "; own. is followed by a learner's number");
    Member& member = resumable[learner];
    member.own = own;
    if (!rule().in_place) {
      member.accumulated = std::make_shared<Memory>(backend_, spec_.layout.bytes);
      snapshot.give("accumulated." + id, *member.accumulated);
    }
  }
  central_.restore(snapshot);
  whole_ = opened_ = snapshot.counted("round");
  iteration_ = snapshot.counted("iteration");
  starts_.resume_at(whole_, iteration_);
  position_ = static_cast<uint64_t>(snapshot.counted("position"));
  rounds_.clear();
  resumable_.clear();
  for (auto& [id, member] : resumable) resumable_.push_back(std::move(member));
}

bool AsynchronousGroup::all_over() const {
  return !averaging_round_ && std::ranges::none_of(rounds_, [](const auto& each) { return each.second.outstanding > 0; });
}

void AsynchronousGroup::await_last_pushes(std::unique_lock<std::mutex>& lock) const {
  changed_.wait(lock, [this] { return last_pushes_ == 0; });
}

bool AsynchronousGroup::too_far_ahead(const Member& member) const {
  if (!rule().slack) return false;
  return std::ranges::any_of(members_, [&](const auto& each) { return member.clock - each.second.clock > *rule().slack; });
}

// The round of which the next iteration is; fixes how many there are of it.
AsynchronousGroup::Round& AsynchronousGroup::open() {
  if (!rounds_.empty() && !rounds_.rbegin()->second.exhausted()) return rounds_.rbegin()->second;
  Round round;
  round.first_iteration = starts_.of(opened_);
  round.learners = std::ranges::count_if(members_, [&](const auto& each) { return opened_ < each.second.until; });
  round.size = round.learners * std::min(rule().period, end_ - round.first_iteration);
  round.position = position_;
  round.next_position = position_ + static_cast<uint64_t>(round.size * spec_.batch);
  return rounds_.emplace(opened_++, round).first->second;
}

Ticket AsynchronousGroup::hand_out(Member& member) {
  Round& round = open();
  Ticket ticket;
  ticket.round = opened_ - 1;
  ticket.iteration = round.first_iteration + round.taken / round.learners;
  ticket.position = position_;
  ticket.rate = rates_.at(ticket.iteration);
  ticket.forgets = member.fresh;
  if (!rule().in_place) {
    ticket.adopts = member.fresh || member.own % rule().fetch == 0;
    ticket.contributes = (member.own + 1) % rule().push == 0;
  }
  position_ += static_cast<uint64_t>(spec_.batch);
  ++round.taken;
  ++round.outstanding;
  member.fresh = false;
  member.iteration = ticket.iteration;
  member.ticket = ticket;
  return ticket;
}

Entry AsynchronousGroup::enter(int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled, Ticket& ticket) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopped_ || cancelled) return Entry::cancelled;
    const auto found = members_.find(learner);
    if (found == members_.end()) return Entry::evicted;
    Member& member = found->second;
    if (member.ticket) {
      // It gave its iteration up and comes for it again.
      ticket = *member.ticket;
      return Entry::granted;
    }
    const int64_t round = next_round();
    const bool leaves = round >= member.until;
    // What a learner has done and not yet pushed is not lost with it.
    if ((leaves || ends(round)) && member.accumulated && member.own % rule().push != 0) {
      const std::shared_ptr<Memory> accumulated = member.accumulated;
      member.own += rule().push - member.own % rule().push;
      ++last_pushes_;
      lock.unlock();
      push(*accumulated);
      lock.lock();
      --last_pushes_;
      changed_.notify_all();
      continue;
    }
    if (leaves) {
      members_.erase(found);
      changed_.notify_all();
      return Entry::evicted;
    }
    if (round == opened_ && (round >= pause_ || ends(round))) {
      if (all_over()) return Entry::paused;
    } else if (!too_far_ahead(member)) {
      ticket = hand_out(member);
      return Entry::granted;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return Entry::waiting;
    changed_.wait_until(lock, std::min(deadline, now + kSlice));
  }
}

void AsynchronousGroup::begin(const Ticket& ticket, const LearnerVectors& vectors) {
  if (ticket.forgets) vectors.optimiser->restart();
  if (ticket.adopts) central_.fetch(vectors.weights->data());
}

void AsynchronousGroup::update(int learner, const Ticket& ticket, const LearnerVectors& vectors) {
  OptimiserPass step;
  step.weights = vectors.weights->data();
  step.next = vectors.weights->data();
  step.gradients = vectors.gradients->data();
  step.rate = ticket.rate;
  // Held here, so that eviction cannot take it away under the writer.
  std::shared_ptr<Memory> accumulated;
  if (!rule().in_place) {
    const std::lock_guard lock(mutex_);
    const auto member = members_.find(learner);
    if (member != members_.end()) accumulated = member->second.accumulated;
  }
  if (accumulated) {
    if (ticket.forgets) clear(*accumulated);
    step.meeting = OptimiserPass::Meeting::accumulation;
    step.contribution = accumulated->data();
  }
  vectors.optimiser->begin(vectors.weights->data(), vectors.gradients->data());
  vectors.optimiser->apply(step, 0, spec_.layout.length());
  if (accumulated && ticket.contributes) push(*accumulated);
}

bool AsynchronousGroup::report(int learner, int64_t iteration, double loss) {
  std::unique_lock lock(mutex_);
  const auto found = members_.find(learner);
  if (found == members_.end()) return true;
  changed_.notify_all();
  if (!std::isfinite(loss)) {
    if (not_finite_at_ < 0 || iteration < not_finite_at_) not_finite_at_ = iteration;
    stopped_ = true;
    return false;
  }
  losses_.add(iteration, loss);
  Member& member = found->second;
  give_back(member);
  member.ticket.reset();
  ++member.clock;
  ++member.own;
  ++member.iteration;
  close_rounds(lock);
  return true;
}

void AsynchronousGroup::give_back(const Member& member) {
  if (member.ticket) --rounds_.at(member.ticket->round).outstanding;
}

// Rounds are whole in their order. Whoever notices takes them into the evaluation average first, one at a time.
void AsynchronousGroup::close_rounds(std::unique_lock<std::mutex>& lock) {
  while (!averaging_round_ && !rounds_.empty() && rounds_.begin()->second.exhausted() && rounds_.begin()->second.outstanding == 0) {
    if (central_.has_average()) {
      const Round round = rounds_.begin()->second;
      averaging_round_ = true;
      lock.unlock();
      central_.take_into_average(round.position, round.next_position);
      lock.lock();
      averaging_round_ = false;
    }
    const Round& round = rounds_.begin()->second;
    iteration_ = round.first_iteration + round.size / round.learners;
    rounds_.erase(rounds_.begin());
    ++whole_;
  }
  changed_.notify_all();
}

int64_t AsynchronousGroup::whole_iterations() const {
  int64_t whole = std::min(end_, starts_.of(opened_));
  for (const auto& [number, round] : rounds_) whole = std::min(whole, round.first_iteration + round.taken / round.learners);
  for (const auto& [id, member] : members_)
    if (member.ticket) whole = std::min(whole, member.ticket->iteration);
  return whole;
}

void AsynchronousGroup::push(Memory& accumulated) {
  central_.add(accumulated);
  clear(accumulated);
}

void AsynchronousGroup::clear(Memory& vector) {
  backend_.average({spec_.layout.type(), 0, spec_.layout.length(), nullptr, vector.data(), {}, 0, 0});
}

}  // namespace arbalest
