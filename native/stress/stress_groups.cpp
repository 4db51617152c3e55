// Learners in threads of their own, and an owner that lets them join, kills them, pauses them and looks at the central model, all at once
// and under any rule. On `cuda-host`, where streams are threads that events alone put in order, an event that no thread waits for is a race
// too.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness.h"
#include "learner.h"

namespace arbalest::stress {
namespace {

constexpr int kMostLearners = 5;

// Learners that train the central model in place race by design, as Hogwild! does: they are left out.
AsynchronousRule asynchronous_rule(Chance& chance) {
  AsynchronousRule rule;
  rule.push = chance.between(1, 3);
  rule.fetch = chance.between(1, 3);
  if (chance.one_in(2)) rule.slack = chance.between(0, 4);
  return rule;
}

// Vectors of which the states of optimisers lie in the second tier, or all.
MovedVectors moved_vectors(Backend& backend, const ParameterLayout& layout, Chance& chance) {
  HostTierSpec tier;
  tier.timing = timing_of(chance);
  return {StagedVectors::make(backend, layout, tier), chance.one_in(2)};
}

GroupSpec group_of(Backend& backend, Chance& chance) {
  const bool streams = backend.capabilities().streams;
  GroupSpec spec;
  spec.layout = layout_of(chance);
  spec.batch = 4;
  if (streams || chance.one_in(2))
    spec.synchronous = synchronous_rule(chance);
  else
    spec.asynchronous = asynchronous_rule(chance);
  spec.optimiser.momentum = chance.one_of({0.0, 0.9});
  if (chance.one_in(3)) spec.optimiser.clip_norm = 1;
  if (chance.one_in(2)) {
    EvaluationAverageSpec average;
    average.kind = chance.one_of({EvaluationAverageSpec::Kind::ema, EvaluationAverageSpec::Kind::swa, EvaluationAverageSpec::Kind::lawa});
    average.decay = 0.5;
    average.window = 3;
    spec.average = average;
  }
  if (chance.one_in(3)) spec.moved = moved_vectors(backend, spec.layout, chance);
  if (!spec.synchronous || spec.synchronous->lockstep || spec.moved.all) return spec;
  spec.devices = static_cast<int>(chance.between(1, 3));
  if (spec.devices > 1) spec.levels.push_back({LevelSpec::Kind::devices});
  if (chance.one_in(2)) {
    const double rate = chance.one_of({std::numeric_limits<double>::infinity(), 1e6});
    spec.levels.push_back({LevelSpec::Kind::loopback, std::make_shared<RatedLink>(chance.one_of({0.0, 1e-3}), rate)});
  }
  return spec;
}

// The group's owner.
class Owner {
 public:
  Owner(Backend& backend, Chance& chance) : chance_(chance), spec_(group_of(backend, chance)) {
    const std::vector<float> initial(spec_.layout.elements, 1.0F);
    group_ = make_group(backend, spec_, reinterpret_cast<const std::byte*>(initial.data()));
  }

  void run() {
    const float rate = 0.1F;
    group_->set_rates(0, {&rate, 1});
    const int64_t period = spec_.synchronous ? spec_.synchronous->period : spec_.asynchronous->period;
    const int64_t end = period * chance_.between(5, 40);
    group_->set_end(end);
    for (int64_t left = chance_.between(1, 4); left > 0; --left) join();
    while (group_->status().iterations < end) {
      do_something();
      std::erase_if(learners_, [](const auto& learner) { return learner->ended(); });
      // On a busy machine no learner would reach the end of a round if every round was changed.
      if (chance_.one_in(3)) await_round(group_->status().round + 1, end);
    }
    await_rest();
    check(end);
  }

 private:
  // Those who train, or rest.
  std::vector<Learner*> members() const {
    const std::vector<int> ids = group_->status().members;
    std::vector<Learner*> found;
    for (const auto& learner : learners_)
      if (std::ranges::find(ids, learner->id()) != ids.end()) found.push_back(learner.get());
    return found;
  }

  void join() {
    const int id = joined_++;
    const int device = static_cast<int>(chance_.between(0, spec_.devices - 1));
    const int64_t from = group_->join(id, false, device);
    learners_.push_back(std::make_unique<Learner>(*group_, id, device, spec_.optimiser, from));
  }

  void do_something() {
    std::vector<Learner*> all = members();
    const auto anyone = [&] { return all[static_cast<size_t>(chance_.between(0, static_cast<int64_t>(all.size()) - 1))]; };
    switch (chance_.between(0, 7)) {
      case 0: group_->losses(0); break;
      case 1: look(); break;
      case 2: group_->averaging_spans(); break;
      case 3: {
        const std::vector<float> rates(3, 0.05F);
        group_->set_rates(group_->status().iterations + chance_.between(0, 3), rates);
        break;
      }
      case 4:
        if (spec_.synchronous) group_->set_restarts({group_->status().round + chance_.between(1, 3)});
        break;
      case 5:
        if (all.size() < kMostLearners) join();
        break;
      case 6:
        if (all.size() > 1) anyone()->kill();
        break;
      default: pause();
    }
  }

  // Reads the model that is evaluated, while the learners continue.
  void look() {
    std::vector<float> central(spec_.layout.elements);
    group_->read_central(reinterpret_cast<std::byte*>(central.data()));
    for (const float weight : central) expect(std::isfinite(weight), "the central model has a weight that is not finite");
  }

  void pause() {
    group_->set_pause(group_->status().round + chance_.between(0, 2));
    await_rest();
    Snapshot snapshot(group_->snapshots(), spec_.layout);
    group_->capture(snapshot);
    expect(snapshot.counted("round") == group_->status().round, "a snapshot has another round than its group");
    expect_equal_copies();
    const std::vector<float> weights(spec_.layout.elements, 0.5F);
    if (chance_.one_in(3)) group_->write_central(reinterpret_cast<const std::byte*>(weights.data()));
    group_->set_pause(kNever);
  }

  void await_round(int64_t round, int64_t end) {
    for (GroupStatus status = group_->status(); status.round < round && status.iterations < end; status = group_->status())
      std::this_thread::sleep_for(std::chrono::microseconds(500));
  }

  void await_rest() {
    for (Learner* const learner : members()) learner->look_again();
    while (std::ranges::any_of(members(), [](const Learner* learner) { return !learner->rests(); }))
      std::this_thread::sleep_for(std::chrono::microseconds(500));
  }

  std::vector<float> central_of(int device) {
    Backend& backend = group_->backend().device(spec_.average ? 0 : device);
    const Memory copy(backend, spec_.layout.bytes);
    group_->copy_central(static_cast<size_t>(device), copy);
    std::vector<float> canonical(spec_.layout.elements);
    to_canonical(backend, spec_.layout, copy.data(), reinterpret_cast<std::byte*>(canonical.data()));
    return canonical;
  }

  void expect_equal_copies() {
    // With an evaluation average all devices read the first one's.
    const std::vector<float> first = central_of(0);
    for (int device = 1; device < spec_.devices; ++device) expect(first == central_of(device), "two devices have different central models");
  }

  void check(int64_t end) {
    const GroupStatus status = group_->status();
    expect(status.iterations == end, "the group has made another number of iterations than it was to make");
    expect(status.not_finite_at < 0, "a loss was not finite");
    expect(group_->losses(0).size() == static_cast<size_t>(end), "losses are missing");
    look();
    expect_equal_copies();
  }

  Chance& chance_;
  const GroupSpec spec_;
  std::unique_ptr<Group> group_;
  std::deque<std::unique_ptr<Learner>> learners_;
  int joined_ = 0;
};

}  // namespace

void run(Backend& backend, Chance& chance) { Owner(backend, chance).run(); }

}  // namespace arbalest::stress
