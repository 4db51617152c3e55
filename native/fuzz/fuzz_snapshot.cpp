// Any snapshot: a group of any rule, and a replica, refuse it with a code or go on from it.
#include <algorithm>
#include <array>
#include <atomic>

#include "guarded_backend.h"
#include "harness.h"
#include "sync/group.h"

namespace arbalest::fuzz {
namespace {

constexpr int kLearners = 2;
// For what a level does in a thread of its own.
constexpr std::chrono::milliseconds kPatience{1};

ParameterLayout layout() {
  ParameterLayout layout;
  layout.parameters = {{"weight", {Type::f32, {3, 4}, std::string(kPlain)}, 0, 64, 0, false},
                       {"bias", {Type::f32, {3}, std::string(kPlain)}, 64, 64, 12, false}};
  layout.bytes = 128;
  layout.elements = 15;
  check_layout(layout);
  return layout;
}

int64_t between(Input& input, int64_t least, int64_t most) { return std::clamp(input.integer(), least, most); }

// As the binding takes it.
GroupSpec group_spec(Input& input) {
  constexpr int64_t kLongest = int64_t{1} << 30, kMost = int64_t{1} << 53;
  GroupSpec spec;
  spec.layout = layout();
  spec.batch = between(input, 1, kLongest);
  if (input.below(2) == 0) {
    SynchronousRule rule;
    rule.central = static_cast<CentralRule>(input.below(4));
    rule.period = between(input, 1, kLongest);
    rule.from = between(input, 0, kMost);
    rule.mu = input.real();
    rule.mean_from = between(input, 0, kMost);
    rule.adopts = input.below(2) != 0;
    if (rule.central == CentralRule::optimiser) rule.period = rule.adopts = 1;
    spec.synchronous = rule;
  } else {
    AsynchronousRule rule;
    rule.in_place = input.below(2) != 0;
    rule.push = between(input, 1, kLongest);
    rule.fetch = between(input, 1, kLongest);
    rule.period = between(input, 1, kLongest);
    if (input.below(2) != 0) rule.slack = between(input, 0, kMost);
    spec.asynchronous = rule;
  }
  if (input.below(2) != 0) {
    EvaluationAverageSpec average;
    average.kind = static_cast<EvaluationAverageSpec::Kind>(input.below(3));
    average.decay = input.real();
    average.window = between(input, 1, 64);
    average.from = static_cast<double>(between(input, 0, kMost));
    average.every = static_cast<double>(between(input, 1, kMost));
    spec.average = average;
  }
  if (input.below(2) != 0) {
    spec.devices = static_cast<int>(input.number());
    spec.levels.resize(input.below(4));
    for (LevelSpec& level : spec.levels)
      level = {input.below(2) == 0 ? LevelSpec::Kind::devices : LevelSpec::Kind::loopback, std::make_shared<RatedLink>(0)};
  }
  return spec;
}

// Words that the rules look for are likely; a number makes one a learner's or an average's.
std::string name(Input& input) {
  const std::string word = input.word();
  return input.below(3) == 0 ? word + "." + std::to_string(input.byte()) : word;
}

void fill(Snapshot& snapshot, Input& input) {
  std::vector<float> numbers(snapshot.layout().elements);
  for (size_t left = input.below(16); left > 0; --left) {
    for (float& number : numbers) number = static_cast<float>(input.byte());
    snapshot.write(name(input), reinterpret_cast<const std::byte*>(numbers.data()));
  }
  for (size_t left = input.below(24); left > 0; --left) {
    const std::string counted = name(input);
    snapshot.count(counted, input.integer());
  }
}

// The learners take what is left of a round, one after the other, none of them waiting.
void go_on(Group& group, Input& input) {
  Backend& backend = group.backend();
  const std::atomic<bool> cancelled{false};
  const float rate = 0.1F;
  group.set_rates(0, {&rate, 1});
  for (int learner = 0; learner < kLearners; ++learner) group.join(learner, input.below(2) != 0, static_cast<int>(input.below(4)));
  std::array<LearnerVectors, kLearners> vectors;
  std::array<std::shared_ptr<Optimiser>, kLearners> optimisers;
  for (int learner = 0; learner < kLearners; ++learner) {
    LearnerVectors& mine = vectors[learner];
    mine.weights = group.shared_weights();
    if (!mine.weights) mine.weights = std::make_shared<Memory>(backend, group.layout().bytes);
    mine.gradients = std::make_shared<Memory>(backend, group.layout().bytes);
    optimisers[learner] = std::make_shared<Optimiser>(backend, group.layout(), OptimiserSpec{});
    if (group.buckets().empty()) mine.optimiser = optimisers[learner];
  }
  for (size_t left = input.below(8); left > 0; --left) {
    const int learner = static_cast<int>(input.below(kLearners));
    Ticket ticket;
    if (group.enter(learner, Clock::now(), cancelled, ticket) != Outcome::done) continue;
    group.begin(learner, ticket, vectors[learner]);
    for (size_t bucket = 0; bucket < group.buckets().size(); ++bucket) group.offer(learner, ticket, bucket, vectors[learner]);
    if (group.await(learner, ticket, Clock::now() + kPatience, cancelled) != Outcome::done) return;
    group.update(learner, ticket, vectors[learner]);
    group.report(learner, ticket.iteration, 1);
  }
}

}  // namespace

void run(Input& input) {
  Backend& backend = guarded_backend();
  const std::vector<float> initial(layout().elements, 0.5F);
  const auto group = make_group(backend, group_spec(input), reinterpret_cast<const std::byte*>(initial.data()));
  Snapshot snapshot(backend, layout());
  // A whole one first, so that what is harmed in it counts.
  if (input.below(4) != 0) group->capture(snapshot);
  fill(snapshot, input);
  group->restore(snapshot);
  Snapshot again(backend, layout());
  group->capture(again);
  std::vector<std::byte> canonical(layout().elements * sizeof(float));
  for (const auto& [name, vector] : again.vectors()) again.read(name, canonical.data());
  group->read_central(canonical.data());
  group->losses(input.natural());
  go_on(*group, input);
  group->status();
}

}  // namespace arbalest::fuzz
