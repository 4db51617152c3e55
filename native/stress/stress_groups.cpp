// Learners in threads of their own, and an owner that lets them join, kills them, pauses them and looks at the central model, all at once
// and under any rule. On `cuda-host`, where streams are threads that events alone put in order, an event that no thread waits for is a race
// too.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness.h"
#include "sync/group.h"

namespace arbalest::stress {
namespace {

constexpr std::chrono::milliseconds kTurn{5};
constexpr int kMostLearners = 5;

// Several pieces of a pass, several buckets, and a frozen parameter between others.
ParameterLayout layout_of(Chance& chance) {
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

SynchronousRule synchronous_rule(Chance& chance) {
  SynchronousRule rule;
  rule.central = chance.one_of({CentralRule::sma, CentralRule::outer, CentralRule::mean, CentralRule::optimiser});
  rule.mu = chance.one_of({0.0, 0.5});
  rule.momentum = chance.one_of({0.0, 0.5});
  rule.adopts = rule.central == CentralRule::optimiser || chance.one_in(2);
  rule.period = rule.central == CentralRule::optimiser ? 1 : chance.between(1, 3);
  rule.lockstep = rule.central == CentralRule::sma && chance.one_in(3);
  return rule;
}

// Learners that train the central model in place race by design, as Hogwild! does: they are left out.
AsynchronousRule asynchronous_rule(Chance& chance) {
  AsynchronousRule rule;
  rule.push = chance.between(1, 3);
  rule.fetch = chance.between(1, 3);
  if (chance.one_in(2)) rule.slack = chance.between(0, 4);
  return rule;
}

GroupSpec group_of(Chance& chance, bool streams) {
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
  if (!spec.synchronous || spec.synchronous->lockstep) return spec;
  spec.devices = static_cast<int>(chance.between(1, 3));
  if (spec.devices > 1) spec.levels.push_back({LevelSpec::Kind::devices, 0});
  if (chance.one_in(2)) spec.levels.push_back({LevelSpec::Kind::loopback, chance.one_of({0.0, 1e-3})});
  return spec;
}

// One learner's thread: steps as a replica takes them, on a gradient that draws the weights to zero.
class Learner {
 public:
  Learner(Group& group, int id, int device, const OptimiserSpec& optimiser, int64_t from)
      : group_(group), backend_(group.backend().device(device)), id_(id), from_(from), optimiser_(optimiser), thread_([this] {
          learn();
        }) {}
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
  void learn() {
    const std::unique_ptr<Stream> stream = backend_.stream();
    const UsedStream used(backend_, stream.get());
    const size_t bytes = group_.layout().bytes;
    LearnerVectors vectors{std::make_shared<Memory>(backend_, bytes), std::make_shared<Memory>(backend_, bytes), nullptr};
    if (group_.buckets().empty()) vectors.optimiser = std::make_shared<Optimiser>(backend_, group_.layout(), optimiser_);
    const Memory zero(backend_, bytes);
    while (!over_ && step(vectors, zero)) {
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
    if (!meets_central([&] { group_.begin(ticket, vectors); })) return false;
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
  const int id_;
  const int64_t from_;
  const OptimiserSpec optimiser_;
  std::mutex meeting_;
  std::atomic<bool> cancelled_{false}, over_{false}, ended_{false};
  std::atomic<int64_t> looks_{0}, rested_{-1};
  std::thread thread_;  // last: it uses all that stands above
};

// The group's owner.
class Owner {
 public:
  Owner(Backend& backend, Chance& chance) : chance_(chance), spec_(group_of(chance, streams(backend))) {
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
  static bool streams(const Backend& backend) { return backend.capabilities().streams; }

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
    Snapshot snapshot(group_->backend(), spec_.layout);
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
