#include "replica/step_loop.h"

#include <cmath>
#include <utility>

namespace arbalest {
namespace {

// Releases the arena when a run ends, however it ends, so that no other learner waits for it for ever. A transfer is then under way only
// after an error or a cancellation.
struct ReleasedArena {
  ReplicaMemory& memory;
  ~ReleasedArena() {
    memory.abandon_transfers();
    if (memory.user()) memory.user()->give_back();
  }
};

// A call, for the turns on its device: if it throws, no turn waits for the learner. An evaluator has a turn for each call.
class LeasedCall {
 public:
  explicit LeasedCall(LeaseUser* user) : user_(user) {
    if (user_) user_->begin_call();
  }
  ~LeasedCall() {
    if (!user_) return;
    if (!goes_on_ || user_->evaluates()) user_->rest();
    user_->end_call();
  }
  Outcome ended(Outcome outcome) {
    goes_on_ = outcome == Outcome::done || outcome == Outcome::waiting;
    return outcome;
  }

 private:
  LeaseUser* const user_;
  bool goes_on_ = false;
};

}  // namespace

StepLoop::StepLoop(std::shared_ptr<const Program> program, const Source& source, const StepOwner& owner)
    : owner_(owner),
      memory_(owner.memory),
      bound_(std::move(program), source, memory_, owner.group),
      group_(bound_.trains() ? owner.group : nullptr),
      samples_(memory_.backend(), bound_.program(), source, owner.seed, owner.queues),
      measures_(bound_.program(), memory_),
      gradients_(memory_, bound_.accumulate()),
      pull_(group_, owner.learner, memory_) {}

RunReport StepLoop::run(const RunLimits& limits) {
  RunReport report;
  const Clock::time_point start = Clock::now(), deadline = after(start, limits.milliseconds);
  LeasedCall call(owner_.lease);
  const ReleasedArena released{memory_};
  const auto ended = [&](Outcome outcome) {
    give_arena_back();
    report.outcome = call.ended(left(outcome));
    report.busy_seconds = seconds_since(start) - report.wait_seconds - report.data_seconds;
    return report;
  };
  try {
    while (report.steps < limits.steps) {
      if (!ticket_) {
        if (const Outcome outcome = begin(limits, report.steps, deadline, report); outcome != Outcome::done) return ended(outcome);
      }
      while (ticket_) {
        if (const Outcome outcome = run_next(deadline, report); outcome != Outcome::done) return ended(outcome);
      }
      if (Clock::now() >= deadline) break;
    }
    return ended(Outcome::done);
  } catch (...) {
    // What the step has computed so far is lost with its transfers and its arena.
    give_up_step();
    throw;
  }
}

Outcome StepLoop::run_segment(Segment segment, const RunLimits& limits) {
  LeasedCall call(owner_.lease);
  return call.ended(run_alone(segment, limits));
}

Outcome StepLoop::run_alone(Segment segment, const RunLimits& limits) {
  RunReport report;
  const Clock::time_point deadline = after(Clock::now(), limits.milliseconds);
  if (!ticket_) {
    if (const Outcome outcome = begin(limits, 0, deadline, report); outcome != Outcome::done) return left(outcome);
  }
  if (limits.rate) ticket_->rate = *limits.rate;
  // The learner may read the weights between two segments.
  if (const Outcome outcome = pull_.take_all(*ticket_, deadline, owner_.cancelled, report); outcome != Outcome::done) return left(outcome);
  if (segment == Segment::load) {
    if (bound_.accumulate() > 1 && gradients_.arrived()) {
      if (gradients_.last())
        throw Error("INVALID_STATE",
                    "load: the step has had its " + std::to_string(bound_.accumulate()) + " batches; call exchange and update");
      begin_batch();
    } else {
      measures_.renew();
    }
    samples_.choose(limits.samples);
    if (const Outcome outcome = samples_.fetch(deadline, owner_.cancelled, report); outcome != Outcome::done) return left(outcome);
  }
  if (segment < Segment::exchange) {
    if (const Outcome outcome = take_device(deadline, report); outcome != Outcome::done) return left(outcome);
  }
  // A learner that omits the exchange meets the group here, before which it may not write its contribution.
  if (segment == Segment::exchange || segment == Segment::update) {
    refuse_unfinished(segment);
    give_device_back();
    if (const Outcome outcome = meet(deadline, report); outcome != Outcome::done) return left(outcome);
  }
  next_ = 0;
  bound_.make_kernels();
  if (const Outcome outcome = run_operators(segment, false, deadline, report); outcome != Outcome::done) return left(outcome);
  if (segment == Segment::update || !bound_.trains()) complete(report);
  return Outcome::done;
}

// Only for steps of several batches: in a step of one batch the learner may have written the gradient itself.
void StepLoop::refuse_unfinished(Segment segment) const {
  if (bound_.accumulate() == 1 || gradients_.finished() == bound_.accumulate()) return;
  throw Error("INVALID_STATE", std::string(segment == Segment::update ? "update" : "exchange") + ": the step has had " +
                                   std::to_string(gradients_.finished()) + " of its " + std::to_string(bound_.accumulate()) +
                                   " batches; call load, forward and backward once for each");
}

void StepLoop::moved() {
  give_up_step();
  bound_.forget_kernels();
  measures_.forget_readback();
}

// Which step this is: its place in the data, its rate, its round.
Outcome StepLoop::begin(const RunLimits& limits, int64_t done, Clock::time_point deadline, RunReport& report) {
  Ticket ticket;
  if (group_) {
    const Clock::time_point start = Clock::now();
    const Outcome outcome = group_->enter(owner_.learner, deadline, owner_.cancelled, ticket);
    report.wait_seconds += seconds_since(start);
    if (outcome != Outcome::done) return outcome;
    group_->begin(owner_.learner, ticket, memory_.vectors());
  } else {
    if (owner_.cancelled) return Outcome::cancelled;
    ticket.position = limits.position + static_cast<uint64_t>(done * bound_.accumulate() * bound_.program().batch);
  }
  if (limits.rate) ticket.rate = *limits.rate;
  // Those of a step that an error has ended.
  memory_.abandon_transfers();
  samples_.begin(ticket.position);
  measures_.begin();
  gradients_.begin();
  pull_.begin(ticket, !takes_turns());
  ticket_ = ticket;
  segment_ = Segment::load;
  next_ = 0;
  return Outcome::done;
}

// A further batch of the same step: what the one before gave is kept aside.
void StepLoop::begin_batch() {
  gradients_.advance();
  measures_.advance();
  samples_.advance();
  segment_ = Segment::load;
  // The next batch may have to be waited for.
  if (memory_.user()) memory_.user()->give_back();
}

// The segments whose turn it is.
Outcome StepLoop::run_next(Clock::time_point deadline, RunReport& report) {
  if (segment_ == Segment::load) {
    if (const Outcome outcome = pull_.open(*ticket_, deadline, owner_.cancelled, report); outcome != Outcome::done) return outcome;
    if (const Outcome outcome = samples_.fetch(deadline, owner_.cancelled, report); outcome != Outcome::done) return outcome;
  }
  if (segment_ < Segment::exchange) {
    if (const Outcome outcome = take_device(deadline, report); outcome != Outcome::done) return outcome;
    if (const Outcome outcome = take_arena(deadline, report); outcome != Outcome::done) return outcome;
    bound_.make_kernels();
  }
  if (segment_ == Segment::load && owner_.queues) {
    if (const std::span<const RecordedPart> parts = bound_.recordings(samples_.context(), company(), readback()); !parts.empty()) {
      if (const Outcome outcome = run_recorded(parts, report); outcome != Outcome::done) return outcome;
      end_segment(report);
      return Outcome::done;
    }
  }
  const bool offered = segment_ == Segment::backward && offers();
  if (offered && !check_loss()) return Outcome::cancelled;
  if (segment_ == Segment::exchange) {
    give_arena_back();
    give_device_back();
    if (const Outcome outcome = meet(deadline, report); outcome != Outcome::done) return outcome;
  }
  // Sums of the last round may still read the gradients that backward writes.
  if (segment_ == Segment::backward)
    if (const Outcome outcome = pull_.take_all(*ticket_, deadline, owner_.cancelled, report); outcome != Outcome::done) return outcome;
  if (const Outcome outcome = run_operators(segment_, offered, deadline, report); outcome != Outcome::done) return outcome;
  end_segment(report);
  return Outcome::done;
}

// Load to backward. After each part its gradients go to the group; the loss is checked before the first ones do.
Outcome StepLoop::run_recorded(std::span<const RecordedPart> parts, RunReport& report) {
  for (const RecordedPart& part : parts) {
    const bool is_first = &part == &parts.front();
    report.wait_seconds += part.recording->run();
    if (part.reads_back) measures_.expect_readback();
    if (!offers()) continue;
    if (is_first && !check_loss()) return Outcome::cancelled;
    for (const BoundOperator& op : part.backward) offer(op);
  }
  samples_.release();
  gradients_.arrive();
  segment_ = Segment::backward;
  if (offers()) gradients_.mark_averaged();
  return Outcome::done;
}

// Goes to the next segment or to the step's next batch, or completes the step.
void StepLoop::end_segment(RunReport& report) {
  if (segment_ == Segment::backward && !gradients_.last())
    begin_batch();
  else if (segment_ == Segment::update)
    complete(report);
  else
    segment_ = static_cast<Segment>(static_cast<size_t>(segment_) + 1);
}

// Cancelled if the run was cancelled between two operators. `offered`: gradients go to the group as soon as they are complete.
Outcome StepLoop::run_operators(Segment segment, bool offered, Clock::time_point deadline, RunReport& report) {
  const StepContext& context = samples_.context();
  std::vector<BoundOperator>& operators = bound_.operators(segment);
  for (; next_ < operators.size(); ++next_) {
    BoundOperator& op = operators[next_];
    if (owner_.cancelled.load(std::memory_order_relaxed)) return Outcome::cancelled;
    if (const Outcome outcome = pull_.take(*ticket_, op.pulls, deadline, owner_.cancelled, report); outcome != Outcome::done)
      return outcome;
    const Clock::time_point start = bound_.profiling() ? Clock::now() : Clock::time_point{};
    if (Kernel* const kernel = bound_.kernel(op))
      kernel->run(context);
    else if (segment == Segment::update)
      update();
    if (bound_.profiling()) {
      memory_.backend().synchronise();
      ++op.runs;
      op.seconds += seconds_since(start);
    }
    if (offered) offer(op);
  }
  next_ = 0;
  if (segment == Segment::backward) gradients_.arrive();
  if (offered) gradients_.mark_averaged();
  if (segment == Segment::load) samples_.release();
  return Outcome::done;
}

// Waits for its turn where jobs share the device: after the round and the samples are there, so that no turn waits for them.
Outcome StepLoop::take_device(Clock::time_point deadline, RunReport& report) {
  LeaseUser* const user = owner_.lease;
  if (!user || user->has()) return Outcome::done;
  const Clock::time_point start = Clock::now();
  std::vector<std::shared_ptr<Event>> before;
  const bool taken = user->take(ticket_->round, deadline, owner_.cancelled, before);
  report.wait_seconds += seconds_since(start);
  if (!taken) return owner_.cancelled ? Outcome::cancelled : Outcome::waiting;
  for (const auto& event : before) memory_.backend().queue_after(event);
  return Outcome::done;
}

// At the exchange of a round's last step, whether the learner then has to wait or not, so that the order of turns does not depend on
// timing.
void StepLoop::give_device_back() {
  LeaseUser* const user = owner_.lease;
  if (user && user->has() && ticket_->contributes) user->give_back(memory_.backend().mark(), group_->exchange_seconds());
}

// Waits for its turn where replicas share arenas. A step that waits for the group or for samples holds no arena.
Outcome StepLoop::take_arena(Clock::time_point deadline, RunReport& report) {
  ArenaUser* const user = memory_.user();
  if (!user || user->has()) return Outcome::done;
  const Clock::time_point start = Clock::now();
  const bool taken = user->take(deadline, owner_.cancelled);
  report.wait_seconds += seconds_since(start);
  if (!taken) return owner_.cancelled ? Outcome::cancelled : Outcome::waiting;
  return Outcome::done;
}

// After backward only the measures are still needed from the arena.
void StepLoop::give_arena_back() {
  ArenaUser* const user = memory_.user();
  if (!user || !user->has()) return;
  measures_.read();
  user->give_back();
}

// While such a step waits it may keep neither the device nor an arena from others, and no transfer may be under way.
bool StepLoop::takes_turns() const { return owner_.lease || memory_.user() || bound_.transfers(); }

// With whom its steps may run as one. Learners that take turns cannot wait for each other.
const void* StepLoop::company() const { return takes_turns() ? nullptr : group_; }

// So that the host has the loss while the device works on backward; null where there is nothing to gain.
Readback* StepLoop::readback() { return takes_turns() || !bound_.trains() ? nullptr : measures_.readback(); }

void StepLoop::offer(const BoundOperator& op) {
  for (size_t bucket : op.completes) {
    const auto& [begin, end] = group_->buckets()[bucket];
    gradients_.average(begin, end);
    group_->offer(owner_.learner, *ticket_, bucket, memory_.vectors());
  }
}

// Checks the loss before the step can reach the central model. False if it is not finite, for which the group has been stopped.
bool StepLoop::check_loss() {
  measures_.read();
  const double loss = measures_.loss();
  return std::isfinite(loss) || group_->report(owner_.learner, ticket_->iteration, loss);
}

// The group meets before the first operator of `exchange`.
Outcome StepLoop::meet(Clock::time_point deadline, RunReport& report) {
  if (bound_.trains()) gradients_.average();
  if (!group_) return Outcome::done;
  if (!check_loss()) return Outcome::cancelled;
  const Clock::time_point start = Clock::now();
  const Outcome outcome = group_->await(owner_.learner, *ticket_, deadline, owner_.cancelled);
  report.wait_seconds += seconds_since(start);
  return outcome;
}

void StepLoop::update() {
  if (group_)
    group_->update(owner_.learner, *ticket_, memory_.vectors());
  else
    memory_.step(ticket_->rate);
}

// The step is over. Its loss is the mean over its batches.
void StepLoop::complete(RunReport& report) {
  const double loss = measures_.loss() / static_cast<double>(gradients_.batches());
  if (group_) group_->report(owner_.learner, ticket_->iteration, loss);
  report.loss_sum += loss;
  report.correct_sum += measures_.correct();
  ++report.steps;
  ticket_.reset();
}

// A step that was given up is not gone on with; a cancelled replica may run again.
Outcome StepLoop::left(Outcome outcome) {
  if (outcome == Outcome::cancelled || outcome == Outcome::evicted) {
    give_up_step();
    owner_.cancelled = false;
  }
  return outcome;
}

void StepLoop::give_up_step() {
  ticket_.reset();
  samples_.release();
  memory_.abandon_transfers();
}

}  // namespace arbalest
