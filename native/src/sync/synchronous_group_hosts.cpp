// A synchronous group's part in what the hosts of a run agree on: it tells its messages when they are due, takes those of the others, and
// keeps up with their rounds where it has no learners.
#include <algorithm>

#include "core/fnv.h"
#include "sync/synchronous_group.h"

namespace arbalest {
namespace {

using Phase = Agreement::Phase;

constexpr std::chrono::milliseconds kSlice{10};
// For the other hosts to reach a rest where the group goes away while it is in a round.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

std::unique_ptr<Agreement> SynchronousGroup::agreement_for_hosts() {
  for (const LevelSpec& level : spec_.levels) {
    if (level.kind != LevelSpec::Kind::hosts) continue;
    // Nobody trains before all hosts have lifted it.
    schedule_.set_pause(0);
    auto agreement = std::make_unique<Agreement>(level.hosts, level.number, rule().period, rule().slack, [this] { hear(); });
    if (const std::exception_ptr failure = agreement->failure()) std::rethrow_exception(failure);
    return agreement;
  }
  return nullptr;
}

SynchronousGroup::~SynchronousGroup() {
  if (!agreement_) return;
  stop();
  // A message may come while it goes away: hear() must not find it then.
  std::unique_ptr<Agreement> gone;
  Lock lock(mutex_);
  changed_.wait_until(lock, Clock::now() + kPatience, [this] {
    return averaging_.failure() || agreement_->phase() == Phase::resting || agreement_->phase() == Phase::opening;
  });
  gone = std::move(agreement_);
}

void SynchronousGroup::stop() {
  Lock lock(mutex_);
  stopped_ = true;
  give_up_learners();
  changed_.announce();
  help(lock);
}

void SynchronousGroup::give_up_learners() {
  if (!agreement_ || agreement_->phase() == Phase::resting) return;
  for (const auto& [learner, member] : members_) rounds_.evict(learner);
  advance();
  go_on();
}

void SynchronousGroup::schedule_changed() {
  if (!agreement_) return;
  agreement_->set_period(schedule_.period());
  go_on();
}

bool SynchronousGroup::rests_before(int64_t round) const { return agreement_->rests_before(round) || schedule_.ends_before(round); }

Outcome SynchronousGroup::await_agreement(Lock& lock, int learner, Clock::time_point deadline, const std::atomic<bool>& cancelled) {
  while (true) {
    if (const std::exception_ptr failure = averaging_.failure()) std::rethrow_exception(failure);
    if (stopped_ || cancelled) return Outcome::cancelled;
    if (!members_.has(learner)) return Outcome::evicted;
    if (agreement_->phase() == Phase::resting) return Outcome::paused;
    // A rest may have brought it forward.
    const int64_t round = members_.at(learner).round;
    if (agreement_->knows(round) && !rests_before(round)) return Outcome::done;
    if (averaging_.next_pass()) {
      help(lock);
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return Outcome::waiting;
    agreement_->await(true);
    changed_.wait_until(lock, std::min(deadline, now + kSlice));
    agreement_->await(false);
  }
}

void SynchronousGroup::go_on() {
  if (!agreement_ || averaging_.failure()) return;
  try {
    do tell_messages();
    while (take_messages());
    open_without_learners();
  } catch (...) {
    fail(std::current_exception());
  }
}

void SynchronousGroup::tell_messages() {
  if (agreement_->phase() == Phase::resting && !stopped_ && !schedule_.rests_before(round_)) tell(AgreementMessage::Kind::opening, round_);
  while (agreement_->phase() == Phase::running && agreement_->knows(agreement_->next_message())) {
    const int64_t round = agreement_->next_message();
    const bool rests = rests_before(round);
    if (!tells_now(round) || (rests && round_ < round)) return;
    tell(rests ? AgreementMessage::Kind::closing : AgreementMessage::Kind::round, round);
  }
}

// All losses of the rounds before are there. A host without learners keeps up with the others' rounds.
bool SynchronousGroup::tells_now(int64_t round) const {
  return stopped_ || members_.empty() ? round_ >= round : own_iterations() >= iterations_before(round);
}

void SynchronousGroup::tell(AgreementMessage::Kind kind, int64_t round) {
  const auto learners_in = [&](int64_t number) {
    return stopped_ ? 0 : std::ranges::count_if(members_, [&](const auto& each) { return each.second.round <= number; });
  };
  AgreementMessage message;
  message.kind = kind;
  message.round = round;
  message.learners = learners_in(kind == AgreementMessage::Kind::round ? round + agreement_->ahead() : round);
  message.next_learners = learners_in(round + 1);
  message.pause = schedule_.pause();
  if (kind == AgreementMessage::Kind::opening) message.settings = settings_hash();
  message.stops = stopped_;
  message.not_finite_at = losses_.not_finite_at();
  message.iterations = iterations_before(round);
  message.losses = losses_.sums(own_told_iterations_, message.iterations);
  own_told_iterations_ = message.iterations;
  agreement_->tell(message);
}

uint64_t SynchronousGroup::settings_hash() const {
  Fnv hash;
  schedule_.add_to(hash);
  hash.add(alpha_.value_or(0));
  hash.add(averaging_.central().momentum());
  return hash.value();
}

bool SynchronousGroup::has_learners_in(int64_t round) const {
  return !stopped_ && std::ranges::any_of(members_, [&](const auto& each) { return each.second.round <= round; });
}

void SynchronousGroup::open_without_learners() {
  bool opened = false;
  for (int64_t round = unopened_round(); agreement_->knows(round) && !rests_before(round) && !has_learners_in(round); ++round) {
    open(round);
    opened = true;
  }
  if (opened) advance();
}

void SynchronousGroup::hear() {
  const std::lock_guard lock(mutex_);
  if (!agreement_) return;
  if (const std::exception_ptr failure = agreement_->failure()) return fail(failure);
  go_on();
  changed_.announce();
}

bool SynchronousGroup::take_messages() {
  const std::vector<AgreementMessage> messages = agreement_->take();
  if (messages.empty()) return false;
  for (const AgreementMessage& message : messages) {
    if (message.host == agreement_->rank()) continue;
    for (const Losses::Sum& sum : message.losses) losses_.merge(sum);
    losses_.merge_not_finite(message.not_finite_at);
  }
  told_iterations_ = messages.front().iterations;
  if (agreement_->phase() != Phase::resting) return true;
  if (std::ranges::any_of(messages, [](const AgreementMessage& message) { return message.stops; })) stopped_ = true;
  // Each host rests until its own owner lifts the pause.
  if (!schedule_.ends_before(round_)) schedule_.set_pause(round_);
  begin_after_rest();
  changed_.announce();
  return true;
}

// A learner that has joined since the hosts agreed on this rest would enter a round behind it, which the opening message counts without it.
// It begins with the others instead, as one that joins while they rest, or that goes on from a checkpoint of here.
void SynchronousGroup::begin_after_rest() {
  for (const int learner : members_.learners()) {
    RoundMember& member = members_.at(learner);
    if (member.round <= round_) continue;
    member.round = member.first = round_;
    member.iteration = schedule_.first_iteration(round_);
  }
}

}  // namespace arbalest
