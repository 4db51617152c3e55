// A learner of a trial: a thread that takes steps as a replica does. And what groups of trials have in common.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "harness.h"
#include "sync/group.h"

namespace arbalest::stress {

// Several pieces of a pass, several buckets, and a frozen parameter between others.
inline ParameterLayout layout_of(Chance& chance) {
  ParameterLayout layout;
  for (const int64_t elements : {int64_t{80}, chance.one_of<int64_t>({96, 20000, 90000}), int64_t{16}, int64_t{48}}) {
    const auto bytes = static_cast<size_t>(elements) * sizeof(float);
    layout.parameters.push_back({"p" + std::to_string(layout.parameters.size()),
                                 {Type::f32, {elements}, std::string(kPlain)},
                                 layout.bytes,
                                 bytes,
                                 layout.elements,
                                 elements == 16 && chance.one_in(2)});
    layout.bytes += bytes;
    layout.elements += static_cast<size_t>(elements);
  }
  check_layout(layout);
  return layout;
}

inline SynchronousRule synchronous_rule(Chance& chance) {
  SynchronousRule rule;
  rule.central = chance.one_of({CentralRule::sma, CentralRule::outer, CentralRule::mean, CentralRule::optimiser, CentralRule::updates});
  const bool meets_always = rule.central == CentralRule::optimiser || rule.central == CentralRule::updates;
  rule.mu = chance.one_of({0.0, 0.5});
  rule.momentum = chance.one_of({0.0, 0.5});
  rule.adopts = meets_always || chance.one_in(2);
  rule.period = meets_always ? 1 : chance.between(1, 3);
  rule.lockstep = rule.central == CentralRule::sma && chance.one_in(3);
  if (meets_always) rule.slack = chance.between(0, 3);
  rule.latest = chance.one_in(2);
  rule.read_my_writes = rule.central == CentralRule::updates && chance.one_in(2);
  return rule;
}

// One learner's thread: steps as a replica takes them, on a gradient that draws the weights to zero.
class Learner {
 public:
  Learner(Group& group, int id, int device, const OptimiserSpec& optimiser, int64_t from)
      : group_(group),
        backend_(group.backend().device(device)),
        states_(group.snapshots().device(device)),
        id_(id),
        from_(from),
        optimiser_(optimiser),
        thread_([this] { learn(); }) {}
  ~Learner() {
    end();
    thread_.join();
  }

  int id() const { return id_; }
  // Whether it has found the group paused, or at its end, since it was last told to look.
  bool rests() const { return rested_ == looks_; }
  void look_again() { ++looks_; }
  bool ended() const { return ended_; }
  void end() { over_ = true; }
  // As a learner is killed: it is no longer waited for, whatever it does. Not while it reads the central model, which the group goes on
  // from without it: what comes of such a step is thrown away.
  void kill() {
    const std::lock_guard lock(meeting_);
    group_.evict(id_);
    cancelled_ = true;
  }

 private:
  static constexpr std::chrono::milliseconds kTurn{5};

  void learn() {
    const std::unique_ptr<Stream> stream = backend_.stream();
    const UsedStream used(backend_, stream.get());
    const size_t bytes = group_.layout().bytes;
    LearnerVectors vectors{std::make_shared<Memory>(backend_, bytes), std::make_shared<Memory>(backend_, bytes), nullptr};
    if (group_.buckets().empty()) vectors.optimiser = std::make_shared<Optimiser>(states_, group_.layout(), optimiser_);
    const Memory zero(backend_, bytes);
    try {
      while (!over_ && step(vectors, zero)) {
      }
    } catch (const Error& error) {
      // Its host has gone. Where another has, a group that waits for this learner does not end.
      if (error.code() != "HOST_LOST") throw;
    }
    backend_.synchronise();
    ended_ = true;
  }

  // False where there will be no other.
  bool step(const LearnerVectors& vectors, const Memory& zero) {
    Ticket ticket;
    const int64_t looks = looks_;
    const Outcome entered = group_.enter(id_, Clock::now() + kTurn, cancelled_, ticket);
    if (entered == Outcome::paused) {
      rested_ = looks;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (entered != Outcome::done) return entered == Outcome::waiting || entered == Outcome::paused;
    expect(ticket.round >= from_, "a learner takes part in a round before it joined");
    if (!meets_central([&] { group_.begin(id_, ticket, vectors); })) return false;
    if (ticket.pulls && !pull(ticket, vectors)) return false;
    const Type type = group_.layout().type();
    const size_t elements = group_.layout().bytes / size_of(type);
    backend_.blend({type, 0, elements, vectors.weights->data(), zero.data(), vectors.gradients->data(), 0.5});
    for (size_t bucket = 0; bucket < group_.buckets().size(); ++bucket) group_.offer(id_, ticket, bucket, vectors);
    while (true) {
      const Outcome awaited = group_.await(id_, ticket, Clock::now() + kTurn, cancelled_);
      if (awaited == Outcome::done) break;
      if (awaited != Outcome::waiting) return false;
    }
    if (!meets_central([&] { group_.update(id_, ticket, vectors); })) return false;
    if (!group_.report(id_, ticket.iteration, 1.0 / static_cast<double>(ticket.iteration + 1))) return false;
    return (ticket.iteration + id_) % 3 != 0 || look_at_own(vectors, zero);
  }

  // Takes each bucket of the central model once it is made. Until then the sums read the last gradients.
  bool pull(const Ticket& ticket, const LearnerVectors& vectors) {
    for (size_t bucket = 0; bucket < group_.pulled_buckets().size();) {
      Outcome taken = Outcome::waiting;
      if (!meets_central([&] { taken = group_.acquire(id_, ticket, bucket, vectors, Clock::now() + kTurn, cancelled_); })) return false;
      if (taken == Outcome::done) ++bucket;
      if (taken != Outcome::done && taken != Outcome::waiting) return false;
    }
    return true;
  }

  // Between two steps, as a learner of the user's own does.
  bool look_at_own(const LearnerVectors& vectors, const Memory& zero) {
    const Type type = group_.layout().type();
    const Memory seen(backend_, group_.layout().bytes);
    return meets_central([&] {
      group_.finish_due_step(id_);
      group_.follow();
      backend_.blend({type, 0, group_.layout().bytes / size_of(type), vectors.weights->data(), zero.data(), seen.data(), 0});
    });
  }

  // False where it has been killed before.
  template <class Work> bool meets_central(Work&& work) {
    const std::lock_guard lock(meeting_);
    if (cancelled_) return false;
    work();
    // Its stream reads the central model too.
    backend_.synchronise();
    return true;
  }

  Group& group_;
  Backend& backend_;
  Backend& states_;  // where those of its optimiser lie
  const int id_;
  const int64_t from_;
  const OptimiserSpec optimiser_;
  std::mutex meeting_;
  std::atomic<bool> cancelled_{false}, over_{false}, ended_{false};
  std::atomic<int64_t> looks_{0}, rested_{-1};
  std::thread thread_;  // last: it uses all that stands above
};

}  // namespace arbalest::stress
