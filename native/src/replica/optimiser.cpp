#include "replica/optimiser.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace arbalest {
namespace {

using Algorithm = OptimiserPass::Algorithm;

[[noreturn]] void refuse(const std::string& name, double value, const std::string& fix) {
  throw Error("INVALID_PROGRAM", "optimiser." + name + ": received " + std::to_string(value) + "; " + fix);
}

double between(const std::string& name, double value, double least, double below) {
  if (!(value >= least && value < below))
    refuse(name, value, "use a number from " + std::to_string(least) + " to below " + std::to_string(below));
  return value;
}

}  // namespace

OptimiserSpec optimiser_spec(const Attributes& attributes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  OptimiserSpec spec;
  spec.decay = between("weightDecay", attributes.number("weightDecay", 0), 0, kInfinity);
  if (attributes.has("beta2")) {
    spec.algorithm = attributes.has("beta1") ? Algorithm::adam : Algorithm::rmsprop;
    spec.beta2 = between("beta2", attributes.number("beta2"), 0, 1);
    spec.epsilon = between("epsilon", attributes.number("epsilon"), 0, kInfinity);
  }
  if (spec.algorithm == Algorithm::adam) {
    spec.beta1 = between("beta1", attributes.number("beta1"), 0, 1);
    spec.decoupled = attributes.number("decoupled", 0) != 0;
  } else {
    spec.momentum = between("momentum", attributes.number("momentum", 0), 0, 1);
  }
  if (spec.algorithm == Algorithm::sgd) {
    spec.nesterov = attributes.number("nesterov", 0) != 0;
    spec.trust = between("trust", attributes.number("trust", 0), 0, kInfinity);
  }
  for (auto [name, limit] : {std::pair{"clipNorm", &spec.clip_norm}, std::pair{"clipValue", &spec.clip_value}}) {
    if (!attributes.has(name)) continue;
    *limit = attributes.number(name);
    if (!(*limit > 0)) refuse(name, *limit, "use a number above 0");
  }
  const double accumulate = attributes.number("accumulate", 1);
  if (!(accumulate >= 1 && accumulate <= 1e6) || accumulate != std::floor(accumulate))
    refuse("accumulate", accumulate, "use a whole number from 1 to 1000000");
  spec.accumulate = static_cast<int64_t>(accumulate);
  const std::vector<double> decays = attributes.list("groupDecays", {}), factors = attributes.list("groupFactors", {});
  if (decays.size() != factors.size())
    throw Error("INVALID_PROGRAM", "optimiser.groupFactors: received " + std::to_string(factors.size()) +
                                       " numbers; give one for each of " + std::to_string(decays.size()) + " groups");
  for (size_t i = 0; i < decays.size(); ++i)
    spec.groups.push_back({between("groupDecays", decays[i], 0, kInfinity), between("groupFactors", factors[i], 0, kInfinity)});
  return spec;
}

std::optional<OptimiserSpec> optimiser_of(const Program& program) {
  for (const PlacedOperator& op : program.segments[static_cast<size_t>(Segment::update)])
    if (op.kind == "update") return optimiser_spec(op.attributes);
  return std::nullopt;
}

bool needs_norms(const OptimiserSpec& spec) { return spec.trust > 0 || std::isfinite(spec.clip_norm); }

// Bytes; every parameter begins at a multiple of it.
constexpr size_t kLine = 64;

Optimiser::Optimiser(Backend& backend, const ParameterLayout& layout, const OptimiserSpec& spec, std::optional<std::vector<Bucket>> owned)
    : backend_(backend), spec_(spec), type_(layout.type()), owned_(owned ? std::move(*owned) : std::vector<Bucket>{{0, layout.length()}}) {
  bool joins = false;
  size_t group = 0;
  const size_t line = kLine / size_of(type_);
  for (const PlacedParameter& parameter : layout.parameters) {
    if (parameter.frozen) {
      joins = false;
      continue;
    }
    const size_t begin = parameter.offset / size_of(type_);
    size_t end = (parameter.offset + parameter.bytes) / size_of(type_);
    // With the zeros behind it, which the next parameter begins after: backends read several elements at once where that divides the range.
    if (spec_.trust == 0) end = std::min((end + line - 1) / line * line, layout.length());
    // Biases and batch norms are too small for a ratio of norms to mean anything: they take plain steps.
    const bool adapted = spec_.trust > 0 && parameter.spec.shape.size() > 1;
    const bool follows = joins && parameter.group == group;
    joins = true;
    group = parameter.group;
    if (spec_.trust == 0 && follows)
      ranges_.back().end = end;
    else
      ranges_.push_back({begin, end, group_of(parameter), adapted, 1});
  }
  if (spec_.algorithm == Algorithm::adam || spec_.momentum != 0) first_ = Memory(backend_, layout.bytes);
  if (spec_.algorithm != Algorithm::sgd) second_ = Memory(backend_, layout.bytes);
}

void Optimiser::begin(const std::byte* weights, const std::byte* gradients, double scale) {
  ++steps_;
  if (!needs_norms()) return;
  // All that is to be known at once: on a device each look is a wait.
  parts_.clear();
  for (const Range& range : ranges_) parts_.push_back({gradients, range.begin, range.end});
  for (const Range& range : ranges_)
    if (range.adapted) parts_.push_back({weights, range.begin, range.end});
  sums_.resize(parts_.size());
  backend_.squares(type_, parts_, sums_);
  double squares = 0;
  for (size_t i = 0; i < ranges_.size(); ++i) squares += ranges_[i].squares = scale * scale * sums_[i];
  // The small number is PyTorch's.
  clip_ = std::isfinite(spec_.clip_norm) ? std::min(1.0, spec_.clip_norm / (std::sqrt(squares) + 1e-6)) : 1;
  size_t of_weights = ranges_.size();
  for (Range& range : ranges_) {
    if (!range.adapted) continue;
    const double w = std::sqrt(sums_[of_weights++]), step = clip_ * std::sqrt(range.squares) + range.group.decay * w;
    range.trust = w > 0 && step > 0 ? spec_.trust * w / step : 1;
  }
}

void Optimiser::apply(OptimiserPass pass, size_t begin, size_t end) const {
  for (std::optional<OptimiserPass> next = first_pass(pass, begin, end); next; next = first_pass(pass, next->end, end))
    backend_.optimise(*next);
}

std::optional<OptimiserPass> Optimiser::first_pass(OptimiserPass pass, size_t begin, size_t end) const {
  if (begin >= end) return std::nullopt;
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), begin, [](size_t at, const Range& each) { return at < each.end; });
  if (range == ranges_.end() || range->begin >= end) return std::nullopt;
  pass.begin = std::max(begin, range->begin);
  pass.end = std::min(end, range->end);
  pass.scale = range->trust * (pass.scale * clip_);
  pass.limit = range->trust * spec_.clip_value;
  pass.rate *= range->group.factor;
  pass.ahead *= range->group.factor;  // of Nesterov's momentum: a multiple of the rate
  (spec_.decoupled ? pass.decoupled : pass.decay) = range->trust * range->group.decay;
  pass.type = type_;
  pass.algorithm = spec_.algorithm;
  pass.first = first_.data();
  pass.second = second_.data();
  pass.momentum = spec_.momentum;
  pass.nesterov = spec_.nesterov;
  pass.beta1 = spec_.beta1;
  pass.beta2 = spec_.beta2;
  pass.epsilon = spec_.epsilon;
  pass.bias1 = 1 - std::pow(spec_.beta1, static_cast<double>(steps_));
  pass.bias2 = 1 - std::pow(spec_.beta2, static_cast<double>(steps_));
  return pass;
}

OptimiserSpec::Group Optimiser::group_of(const PlacedParameter& parameter) const {
  // An optimiser of central models has none.
  if (parameter.group == 0 || spec_.groups.empty()) return {spec_.decay, 1};
  if (parameter.group <= spec_.groups.size()) return spec_.groups[parameter.group - 1];
  throw Error("INVALID_PROGRAM", "parameter " + parameter.name + ": received group " + std::to_string(parameter.group) +
                                     "; the optimiser has " + std::to_string(spec_.groups.size()));
}

size_t Optimiser::step_bytes(OptimiserPass::ContributionKind contribution_kind) const {
  OptimiserPass pass;
  pass.contribution_kind = contribution_kind;
  const size_t end = ranges_.empty() ? 0 : ranges_.back().end;
  size_t bytes = 0;
  for (std::optional<OptimiserPass> next = first_pass(pass, 0, end); next; next = first_pass(pass, next->end, end))
    bytes += bytes_moved(*next);
  return bytes;
}

void Optimiser::restart() {
  steps_ = 0;
  const size_t size = size_of(type_);
  for (const Memory* state : {&first_, &second_})
    for (const auto& [begin, end] : owned_)
      if (state->data()) backend_.zero(state->data() + begin * size, (end - begin) * size);
}

void Optimiser::capture(Snapshot& snapshot, const std::string& prefix) const {
  for (const auto& [name, state] : named_states())
    if (state->data()) snapshot.keep(prefix + name, *state);
  snapshot.count(prefix + "steps", steps_);
}

void Optimiser::restore(const Snapshot& snapshot, const std::string& prefix) {
  for (const auto& [name, state] : named_states())
    if (state->data()) snapshot.give(prefix + name, *state, owned_);
  steps_ = snapshot.counted(prefix + "steps");
}

std::array<std::pair<const char*, const Memory*>, 2> Optimiser::named_states() const {
  return {{{spec_.algorithm == Algorithm::adam ? "firstMoment" : "velocity", &first_}, {"secondMoment", &second_}}};
}

Memory* Optimiser::state(VectorName which) {
  const bool is_mean = spec_.algorithm == Algorithm::adam;
  if (which == VectorName::velocity && !is_mean && first_.data()) return &first_;
  if (which == VectorName::first_moment && is_mean) return &first_;
  if (which == VectorName::second_moment && second_.data()) return &second_;
  return nullptr;
}

}  // namespace arbalest
