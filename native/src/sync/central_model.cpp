#include "sync/central_model.h"

#include <algorithm>
#include <string>

#include "sync/trained_ranges.h"

namespace arbalest {
namespace {

std::optional<OptimiserSpec> optimiser_of(const GroupSpec& spec) {
  const SynchronousRule& rule = *spec.synchronous;
  if (rule.central == CentralRule::optimiser) return spec.optimiser;
  if (rule.central != CentralRule::outer) return std::nullopt;
  OptimiserSpec outer;
  outer.momentum = rule.momentum;
  outer.nesterov = rule.nesterov;
  return outer;
}

// Elements that this host applies the rule to for all hosts; nothing if every host applies it to all.
std::optional<std::vector<Bucket>> owned_ranges(const GroupSpec& spec) {
  for (const LevelSpec& level : spec.levels) {
    if (!level.owners_apply) continue;
    std::vector<Bucket> owned;
    for (const ExchangeChunk& chunk : level.chunks)
      if (chunk.host == level.hosts->rank()) owned.push_back(chunk.range);
    return owned;
  }
  return std::nullopt;
}

// In a snapshot: of the present model, and of those before it.
std::string name_of(int64_t age) { return age == 0 ? "central" : age == 1 ? "central.before" : "central.before." + std::to_string(age); }

}  // namespace

CentralModel::CentralModel(Backend& backend, const GroupSpec& spec, const std::byte* initial_canonical, bool evaluated)
    : backend_(backend), layout_(spec.layout), rule_(*spec.synchronous), type_(spec.layout.type()), frozen_(spec.layout.frozen()) {
  for (int64_t i = 0; i < rule_.slack + 2; ++i) models_.emplace_back(backend_, layout_.bytes);
  if (const auto optimiser = optimiser_of(spec)) {
    optimiser_.emplace(spec.moved.states(backend_), layout_, *optimiser, owned_ranges(spec));
    sum_ = Memory(backend_, layout_.bytes);
  }
  if (spec.average && evaluated) average_.emplace(backend_, layout_, *spec.average);
  replace(initial_canonical);
}

void CentralModel::replace(const std::byte* canonical) {
  for (Memory& model : models_) from_canonical(backend_, layout_, canonical, model.data());
  if (optimiser_) optimiser_->restart();
  if (average_) average_->clear();
  averaged_ = 0;
  backend_.synchronise();
}

void CentralModel::capture(int64_t round, Snapshot& snapshot) const {
  for (int64_t age = 0; age <= past_read(); ++age) snapshot.keep(name_of(age), model(round - age + turns()));
  snapshot.count("averaged", averaged_);
  if (optimiser_) optimiser_->capture(snapshot, "central.");
  if (average_) average_->capture(snapshot);
}

void CentralModel::restore(int64_t round, const Snapshot& snapshot) {
  for (int64_t age = 0; age <= past_read(); ++age) snapshot.give(name_of(age), model(round - age + turns()));
  averaged_ = snapshot.counted("averaged");
  if (optimiser_) optimiser_->restore(snapshot, "central.");
  if (average_) average_->restore(snapshot);
}

const std::byte* CentralModel::evaluated(int64_t round) const {
  const std::byte* const average = average_ ? average_->weights() : nullptr;
  return average ? average : weights(round);
}

void CentralModel::begin_averaging(const ClosingRound& round) {
  round_ = round;
  if (optimiser_ && !needs_whole_sum()) optimiser_->begin(weights(round.round), nullptr);
  if (average_) average_->begin_averaging(round.position, round.next_position);
}

void CentralModel::sum(std::span<const void* const> contributions, double scale, size_t begin, size_t end) const {
  backend_.average({type_, begin, end, nullptr, sum_.data(), contributions, scale, 0});
}

void CentralModel::measure_norms() { optimiser_->begin(weights(round_.round), sum_.data()); }

template <class Rule> void CentralModel::for_trained(size_t begin, size_t end, Rule&& rule) const {
  const std::byte* const z = weights(round_.round);
  std::byte* const next = model(round_.round + 1).data();
  for_each_range(frozen_, begin, end, [&](size_t from, size_t to, bool learns) {
    if (learns)
      rule(from, to);
    else
      backend_.blend({type_, from, to, z, z, next, 1});
  });
}

void CentralModel::take_into_average(size_t begin, size_t end) const {
  if (!average_) return;
  const std::byte* const next = model(round_.round + 1).data();
  for_each_range(frozen_, begin, end, [&](size_t from, size_t to, bool learns) { average_->apply(next, from, to, learns); });
}

void CentralModel::apply(std::span<const void* const> contributions, size_t count, size_t begin, size_t end) const {
  for_trained(begin, end, [&](size_t from, size_t to) { apply_rule(contributions, count, from, to); });
  take_into_average(begin, end);
}

void CentralModel::make(std::span<const void* const> sums, int64_t learners, size_t begin, size_t end) {
  for_trained(begin, end, [&](size_t from, size_t to) { apply_rule(sums, static_cast<size_t>(learners), from, to); });
}

void CentralModel::adopt(const std::byte* next, size_t begin, size_t end) const {
  std::byte* const own = model(round_.round + 1).data();
  if (next != own) backend_.blend({type_, begin, end, next, next, own, 1});
  take_into_average(begin, end);
}

void CentralModel::apply_due_steps(std::span<const void* const> contributions, std::span<const std::shared_ptr<const DueStep>> due,
                                   size_t begin, size_t end) const {
  AveragePass sum{type_, begin, end, weights(round_.round), model(round_.round + 1).data(), contributions, 1, mu()};
  for_trained(begin, end, [&](size_t from, size_t to) {
    if (due.size() < contributions.size()) {
      for (const auto& each : due) each->learner.optimiser->apply(each->pass, from, to);
      return apply_rule(contributions, contributions.size(), from, to);
    }
    std::vector<OptimiserPass> steps(due.size());
    for (sum.end = from; sum.end < to;) {
      // What all learners train alike. What lies between parameters is zero and stays so.
      sum.begin = sum.end;
      sum.end = to;
      for (size_t i = 0; i < due.size(); ++i) {
        const auto step = due[i]->learner.optimiser->first_pass(due[i]->pass, sum.begin, to);
        if (!step) return;
        steps[i] = *step;
        sum.end = std::min(sum.end, step->end);
      }
      for (const OptimiserPass& step : steps) sum.begin = std::max(sum.begin, step.begin);
      if (sum.begin >= sum.end) continue;
      for (OptimiserPass& step : steps) {
        step.begin = sum.begin;
        step.end = sum.end;
      }
      due.front()->learner.optimiser->backend().optimise_and_average(steps, sum);
    }
  });
  take_into_average(begin, end);
}

// What is one gradient to the optimiser, up to its scale.
const void* CentralModel::gradients(std::span<const void* const> contributions, size_t begin, size_t end) const {
  if (contributions.size() == 1) return contributions.front();
  sum(contributions, 1, begin, end);
  return sum_.data();
}

void CentralModel::apply_rule(std::span<const void* const> contributions, size_t count, size_t begin, size_t end) const {
  const std::byte* const z = weights(round_.round);
  std::byte* const next = model(round_.round + 1).data();
  // A round that all its members left before they arrived changes nothing, but it still has its number.
  if (contributions.empty()) return backend_.blend({type_, begin, end, z, z, next, 1});
  const double share = 1.0 / static_cast<double>(count);
  OptimiserPass step;
  step.weights = z;
  step.next = next;
  switch (rule_.central) {
    case CentralRule::sma: return backend_.average({type_, begin, end, z, next, contributions, 1, mu()});
    case CentralRule::updates: return backend_.average({type_, begin, end, z, next, contributions, -1, 0});
    case CentralRule::mean: {
      backend_.average({type_, begin, end, nullptr, next, contributions, share, 0});
      return backend_.blend({type_, begin, end, z, next, next, 1.0 / static_cast<double>(averaged_ + 1)});
    }
    case CentralRule::outer: {
      backend_.average({type_, begin, end, z, sum_.data(), contributions, -share, 0});
      step.gradients = sum_.data();
      step.rate = rule_.per_rate ? rule_.rate * round_.rate : rule_.rate;
      // Where the learners stood still there is nothing to divide.
      step.scale = !rule_.per_rate ? 1 : round_.rate > 0 ? 1 / round_.rate : 0;
      return optimiser_->apply(step, begin, end);
    }
    case CentralRule::optimiser: {
      step.gradients = gradients(contributions, begin, end);
      step.rate = round_.rate;
      step.scale = share;
      return optimiser_->apply(step, begin, end);
    }
  }
}

void CentralModel::end_averaging() {
  if (average_) average_->end_averaging();
  if (rule_.central == CentralRule::mean && round_.first_iteration >= rule_.mean_from) ++averaged_;
}

}  // namespace arbalest
