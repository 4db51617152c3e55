#include "cpu/kernels/vector_passes.h"

#include <algorithm>
#include <array>

#include "cpu/kernels/elementwise.h"

namespace arbalest::kernels {
namespace {

using ContributionKind = OptimiserPass::ContributionKind;

// Elements that a pass fetches ahead of the arithmetic. With as many arrays as it has, the processor's own prefetching does not keep up.
constexpr int64_t kAhead = 512;

// What a pass computes, and where its contribution goes: `sums` holds a correction's sum over several learners.
enum class Rule { plain, momentum, nesterov, adam };
struct Pass {
  Rule rule;
  bool rms;  // of gradients that are divided by the root of their mean square
  ContributionKind contribution_kind;
  bool limited, summed = false;
};

// Each array is read and written once. `sums` begins at the pass's first element, and is null unless the pass is summed.
template <Pass with> void optimise_floats(const OptimiserPass& pass, float* sums) {
  const auto* const weights = static_cast<const float*>(pass.weights);
  const auto* const gradients = static_cast<const float*>(pass.gradients);
  const auto* const central = static_cast<const float*>(pass.central);
  auto* const next = static_cast<float*>(pass.next);
  auto* const first = static_cast<float*>(pass.first);
  auto* const second = static_cast<float*>(pass.second);
  auto* const contributions = static_cast<float*>(pass.contribution);
  const auto scale = static_cast<float>(pass.scale), limit = static_cast<float>(pass.limit), decay = static_cast<float>(pass.decay);
  const auto rate = static_cast<float>(pass.rate), momentum = static_cast<float>(pass.momentum), alpha = static_cast<float>(pass.alpha);
  const auto ahead = static_cast<float>(pass.ahead);
  const auto beta1 = static_cast<float>(pass.beta1), beta2 = static_cast<float>(pass.beta2), epsilon = static_cast<float>(pass.epsilon);
  const auto rest1 = static_cast<float>(1 - pass.beta1), rest2 = static_cast<float>(1 - pass.beta2);
  const auto unbiased_rate = static_cast<float>(pass.rate / pass.bias1), unbias2 = static_cast<float>(1 / pass.bias2);
  const auto shrink = static_cast<float>(pass.rate * pass.decoupled);
  const auto begin = static_cast<int64_t>(pass.begin), end = static_cast<int64_t>(pass.end);
  const auto body = [=]<bool Partial>(int64_t at, int width) {
    __builtin_prefetch(weights + at + kAhead);
    __builtin_prefetch(gradients + at + kAhead);
    if constexpr (with.rule != Rule::plain) __builtin_prefetch(first + at + kAhead, 1);
    if constexpr (with.rule == Rule::adam || with.rms) __builtin_prefetch(second + at + kAhead, 1);
    if constexpr (with.contribution_kind == ContributionKind::correction) __builtin_prefetch(central + at + kAhead);
    if constexpr (with.contribution_kind != ContributionKind::none && !with.summed) __builtin_prefetch(contributions + at + kAhead, 1);
    const Floats w = load<Partial>(weights + at, width);
    Floats g = scale * load<Partial>(gradients + at, width);
    if constexpr (with.limited) g = clamped(g, limit);
    g += decay * w;
    if constexpr (with.rms) {
      const Floats q = beta2 * load<Partial>(second + at, width) + rest2 * g * g;
      store<Partial>(second + at, q, width);
      g = g / (square_root(q) + epsilon);
    }
    Floats step = rate * g, position = w;
    if constexpr (with.rule == Rule::adam) {
      const Floats m = beta1 * load<Partial>(first + at, width) + rest1 * g;
      const Floats q = beta2 * load<Partial>(second + at, width) + rest2 * g * g;
      store<Partial>(first + at, m, width);
      store<Partial>(second + at, q, width);
      step = unbiased_rate * m / (square_root(q * unbias2) + epsilon) + shrink * w;
    } else if constexpr (with.rule != Rule::plain) {
      const Floats before = load<Partial>(first + at, width), v = momentum * before + g;
      store<Partial>(first + at, v, width);
      if constexpr (with.rule == Rule::nesterov) position += ahead * before;
      step = rate * (with.rule == Rule::nesterov ? g + momentum * v : v);
    }
    Floats result = w - step;
    if constexpr (with.contribution_kind == ContributionKind::correction) {
      // Rounded by itself: it has the same bits whether it is added up at once or written first.
      const Floats correction = in_register(alpha * (position - load<Partial>(central + at, width)));
      if constexpr (with.summed) {
        float* const sum = sums + (at - begin);
        store<Partial>(sum, load<Partial>(sum, width) + correction, width);
      } else {
        store<Partial>(contributions + at, correction, width);
      }
      result -= correction;
    } else if constexpr (with.contribution_kind == ContributionKind::copy) {
      store<Partial>(contributions + at, result, width);
    } else if constexpr (with.contribution_kind == ContributionKind::accumulation) {
      store<Partial>(contributions + at, load<Partial>(contributions + at, width) + step, width);
    }
    store<Partial>(next + at, result, width);
  };
  if constexpr (with.summed)
    for_each_register(begin, end, body);
  else
    for_each_slice(end - begin, [&](int64_t from, int64_t to) { for_each_register(begin + from, begin + to, body); });
}

template <Rule rule, bool rms, ContributionKind contribution_kind, bool summed = false>
void optimise_limited(const OptimiserPass& pass, float* sums = nullptr) {
  if (pass.limit < std::numeric_limits<float>::max())
    optimise_floats<{rule, rms, contribution_kind, true, summed}>(pass, sums);
  else
    optimise_floats<{rule, rms, contribution_kind, false, summed}>(pass, sums);
}

template <Rule rule, bool rms = false> void optimise_contributing(const OptimiserPass& pass, float* sums) {
  if (sums) return optimise_limited<rule, rms, ContributionKind::correction, true>(pass, sums);
  switch (pass.contribution_kind) {
    case ContributionKind::none: return optimise_limited<rule, rms, ContributionKind::none>(pass);
    case ContributionKind::correction: return optimise_limited<rule, rms, ContributionKind::correction>(pass);
    case ContributionKind::copy: return optimise_limited<rule, rms, ContributionKind::copy>(pass);
    case ContributionKind::accumulation: return optimise_limited<rule, rms, ContributionKind::accumulation>(pass);
  }
}

// With `sums`, adds its corrections to them and writes none.
void optimise_by_rule(const OptimiserPass& pass, float* sums = nullptr) {
  using Algorithm = OptimiserPass::Algorithm;
  if (pass.algorithm == Algorithm::adam) return optimise_contributing<Rule::adam>(pass, sums);
  if (pass.algorithm == Algorithm::rmsprop)
    return pass.first ? optimise_contributing<Rule::momentum, true>(pass, sums) : optimise_contributing<Rule::plain, true>(pass, sums);
  if (!pass.first) return optimise_contributing<Rule::plain>(pass, sums);
  return pass.nesterov ? optimise_contributing<Rule::nesterov>(pass, sums) : optimise_contributing<Rule::momentum>(pass, sums);
}

// The average's new value, from the sum of its summands.
template <bool Based, bool Moving> Floats averaged(Floats sum, float scale, float mu, Floats base, Floats before) {
  Floats result = scale * sum;
  if constexpr (Based) result += base;
  if constexpr (Moving) result += mu * (base - before);
  return result;
}

template <size_t Summands, bool Based, bool Moving> void average_floats(const AveragePass& pass) {
  const auto* const base = static_cast<const float*>(pass.base);
  auto* const to = static_cast<float*>(pass.to);
  const auto scale = static_cast<float>(pass.scale), mu = static_cast<float>(pass.mu);
  const size_t count = Summands ? Summands : pass.summands.size();
  const auto begin = static_cast<int64_t>(pass.begin), end = static_cast<int64_t>(pass.end);
  for_each_slice(end - begin, [&](int64_t from, int64_t until) {
    for_each_register(begin + from, begin + until, [&]<bool Partial>(int64_t at, int width) {
      Floats sum{}, z{}, before{};
      for (size_t j = 0; j < count; ++j) sum += load<Partial>(static_cast<const float*>(pass.summands[j]) + at, width);
      if constexpr (Based) z = load<Partial>(base + at, width);
      if constexpr (Moving) before = load<Partial>(to + at, width);
      store<Partial>(to + at, averaged<Based, Moving>(sum, scale, mu, z, before), width);
    });
  });
}

// The average of what has been summed: `sums` begins at the pass's first element.
template <bool Moving> void average_sums(const AveragePass& pass, const float* sums) {
  const auto* const base = static_cast<const float*>(pass.base);
  auto* const to = static_cast<float*>(pass.to);
  const auto scale = static_cast<float>(pass.scale), mu = static_cast<float>(pass.mu);
  const auto begin = static_cast<int64_t>(pass.begin), end = static_cast<int64_t>(pass.end);
  for_each_register(begin, end, [&]<bool Partial>(int64_t at, int width) {
    __builtin_prefetch(to + at + kAhead, 1);
    Floats before{};
    if constexpr (Moving) before = load<Partial>(to + at, width);
    const Floats z = load<Partial>(base + at, width), sum = load<Partial>(sums + (at - begin), width);
    store<Partial>(to + at, averaged<true, Moving>(sum, scale, mu, z, before), width);
  });
}

// Whether the sum is that of the corrections that the steps make.
bool sums_corrections(std::span<const OptimiserPass> steps, const AveragePass& sum) {
  if (!sum.base || steps.size() != sum.summands.size()) return false;
  for (size_t i = 0; i < steps.size(); ++i) {
    const OptimiserPass& step = steps[i];
    if (step.contribution_kind != ContributionKind::correction || step.contribution != sum.summands[i]) return false;
    if (step.begin != sum.begin || step.end != sum.end) return false;
  }
  return true;
}

template <size_t Summands> void average_summands(const AveragePass& pass) {
  if (!pass.base) return average_floats<Summands, false, false>(pass);
  return pass.mu == 0 ? average_floats<Summands, true, false>(pass) : average_floats<Summands, true, true>(pass);
}

void require_floats(Type type) {
  if (type != Type::f32) throw Error("UNSUPPORTED_PRECISION", "vector type: received other than f32; use the reference backend");
}

}  // namespace

void optimise(const OptimiserPass& pass) {
  require_floats(pass.type);
  optimise_by_rule(pass);
}

void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) {
  require_floats(sum.type);
  if (!sums_corrections(steps, sum)) {
    for (const OptimiserPass& step : steps) optimise(step);
    return average(sum);
  }
  // Of one learner after another, so that few arrays are read at a time, and as many as a first-level cache holds of all arrays.
  constexpr size_t kTogether = 1024;
  const size_t elements = sum.end - sum.begin, blocks = (elements + kTogether - 1) / kTogether;
  for_each(static_cast<int64_t>(blocks), static_cast<int64_t>(elements), [&](int64_t block) {
    alignas(64) float sums[kTogether] = {};
    AveragePass part = sum;
    part.begin = sum.begin + static_cast<size_t>(block) * kTogether;
    part.end = std::min(sum.end, part.begin + kTogether);
    for (OptimiserPass step : steps) {
      step.begin = part.begin;
      step.end = part.end;
      optimise_by_rule(step, sums);
    }
    part.mu == 0 ? average_sums<false>(part, sums) : average_sums<true>(part, sums);
  });
}

void average(const AveragePass& pass) {
  require_floats(pass.type);
  switch (pass.summands.size()) {
    case 1: return average_summands<1>(pass);
    case 2: return average_summands<2>(pass);
    case 4: return average_summands<4>(pass);
    default: return average_summands<0>(pass);
  }
}

void blend(const BlendPass& pass) {
  require_floats(pass.type);
  const auto* const from = static_cast<const float*>(pass.from);
  const auto* const towards = static_cast<const float*>(pass.towards);
  auto* const to = static_cast<float*>(pass.to);
  const auto weight = static_cast<float>(pass.weight);
  const auto begin = static_cast<int64_t>(pass.begin), end = static_cast<int64_t>(pass.end);
  const bool whole = pass.weight == 1;
  for_each_slice(end - begin, [&](int64_t first, int64_t last) {
    for_each_register(begin + first, begin + last, [&]<bool Partial>(int64_t at, int width) {
      const Floats b = load<Partial>(towards + at, width);
      if (whole) return store<Partial>(to + at, b, width);
      const Floats a = load<Partial>(from + at, width);
      store<Partial>(to + at, a + weight * (b - a), width);
    });
  });
}

double squares(Type type, const void* vector, size_t begin, size_t end) {
  require_floats(type);
  // Sums of blocks whose bounds depend only on the number of elements, added in order.
  constexpr int64_t kBlocks = 256, kLeast = 8192;
  std::array<double, kBlocks> sums{};
  const auto* const values = static_cast<const float*>(vector) + begin;
  const auto elements = static_cast<int64_t>(end - begin);
  const int64_t size = std::max(kLeast, (elements + kBlocks - 1) / kBlocks), blocks = (elements + size - 1) / size;
  for_each(blocks, elements, [&](int64_t block) {
    // In pieces short enough for sums in float.
    constexpr int64_t kPiece = 512;
    double sum = 0;
    const int64_t last = std::min(elements, (block + 1) * size);
    for (int64_t at = block * size; at < last; at += kPiece) {
      Floats lanes{};
      for_each_register(at, std::min(at + kPiece, last), [&]<bool Partial>(int64_t i, int width) {
        const Floats value = load<Partial>(values + i, width);
        lanes += value * value;
      });
      sum += sum_of(lanes);
    }
    sums[static_cast<size_t>(block)] = sum;
  });
  double sum = 0;
  for (int64_t block = 0; block < blocks; ++block) sum += sums[static_cast<size_t>(block)];
  return sum;
}

}  // namespace arbalest::kernels
