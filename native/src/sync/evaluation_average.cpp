#include "sync/evaluation_average.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace arbalest {

EvaluationAverage::EvaluationAverage(Backend& backend, const ParameterLayout& layout, const EvaluationAverageSpec& spec)
    : passes_(backend), spec_(spec), type_(layout.type()) {
  for (Memory& average : averages_) average = Memory(backend, layout.bytes);
  if (spec.kind == EvaluationAverageSpec::Kind::lawa)
    for (int64_t i = 0; i < spec.window; ++i) window_.emplace_back(backend, layout.bytes);
}

void EvaluationAverage::begin_averaging(uint64_t before, uint64_t after) {
  // A multiple of a part of an epoch may be a little larger than the samples that it stands for.
  const auto marks = [&](uint64_t position) {
    const auto samples = static_cast<double>(position);
    return std::max(0.0, std::floor((samples + std::max(1e-6, 1e-12 * samples) - spec_.from) / spec_.every) + 1);
  };
  takes_ = marks(after) > marks(before);
  models_.clear();
  for (size_t i = 0; i < window_.size() && static_cast<int64_t>(i) <= taken_; ++i) models_.push_back(window_[i].data());
}

void EvaluationAverage::apply(const std::byte* central, size_t begin, size_t end, bool learns) const {
  if (!takes_) return;
  const std::byte* const from = averages_[current_].data();
  std::byte* const to = averages_[1 - current_].data();
  if (!learns) return passes_.blend({type_, begin, end, central, central, to, 1});
  if (spec_.kind != EvaluationAverageSpec::Kind::lawa) {
    return passes_.blend({type_, begin, end, from, central, to, blend_factor()});
  }
  passes_.blend({type_, begin, end, central, central, window_[static_cast<size_t>(taken_ % spec_.window)].data(), 1});
  passes_.average({type_, begin, end, nullptr, to, models_, 1.0 / static_cast<double>(models_.size()), 0});
}

double EvaluationAverage::blend_factor() const {
  if (taken_ == 0) return 1;
  const auto count = static_cast<double>(taken_ + 1);
  if (spec_.kind != EvaluationAverageSpec::Kind::ema) return 1 / count;
  // The sum of all weights is one from the first round on, so that the models of the beginning weigh no more than their age says:
  // the correction of Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
  return (1 - spec_.decay) / (1 - std::pow(spec_.decay, count));
}

void EvaluationAverage::capture(Snapshot& snapshot) const {
  snapshot.count("average.taken", taken_);
  if (taken_ > 0) snapshot.keep("average", averages_[current_]);
  for (size_t i = 0; i < window_.size() && static_cast<int64_t>(i) < taken_; ++i)
    snapshot.keep("average.window." + std::to_string(i), window_[i]);
}

void EvaluationAverage::restore(const Snapshot& snapshot) {
  taken_ = snapshot.counted("average.taken");
  if (taken_ > 0) snapshot.give("average", averages_[current_]);
  for (size_t i = 0; i < window_.size() && static_cast<int64_t>(i) < taken_; ++i)
    snapshot.give("average.window." + std::to_string(i), window_[i]);
}

void EvaluationAverage::end_averaging() {
  if (!takes_) return;
  ++taken_;
  current_ = 1 - current_;
}

}  // namespace arbalest
