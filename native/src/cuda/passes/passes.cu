#include "cuda/passes/passes.h"

#include <algorithm>

#include "cuda/launch.h"
#include "cuda/passes/average.h"
#include "cuda/passes/optimise.h"
#include "cuda/passes/squares.h"

namespace arbalest::cuda {
namespace {

void check_type(Type type) {
  if (type != Type::f32) throw Error("UNSUPPORTED_PRECISION", "parameters: the cuda backend keeps them in f32");
}

// Elements [begin, end) in packs where both bounds allow it: `queue` gets the width, the first pack and the number of packs.
template <class Queue> void in_packs(size_t begin, size_t end, Queue&& queue) {
  constexpr int V = kWidest<float>;
  const auto first = static_cast<int64_t>(begin), count = static_cast<int64_t>(end - begin);
  if (first % V == 0 && count % V == 0)
    queue(std::integral_constant<int, V>{}, first / V, count / V);
  else
    queue(std::integral_constant<int, 1>{}, first, count);
}

OptimiserRates rates_of(const OptimiserPass& pass) {
  OptimiserRates rates;
  switch (pass.algorithm) {
    case OptimiserPass::Algorithm::sgd: rates.algorithm = OptimiserRates::kSgd; break;
    case OptimiserPass::Algorithm::adam: rates.algorithm = OptimiserRates::kAdam; break;
    case OptimiserPass::Algorithm::rmsprop: rates.algorithm = OptimiserRates::kRmsprop; break;
  }
  switch (pass.contribution_kind) {
    case OptimiserPass::ContributionKind::none: rates.contribution_kind = OptimiserRates::kNone; break;
    case OptimiserPass::ContributionKind::correction: rates.contribution_kind = OptimiserRates::kCorrection; break;
    case OptimiserPass::ContributionKind::copy: rates.contribution_kind = OptimiserRates::kCopy; break;
    case OptimiserPass::ContributionKind::accumulation: rates.contribution_kind = OptimiserRates::kAccumulation; break;
  }
  for (auto [to, from] :
       {std::pair{&rates.rate, pass.rate}, std::pair{&rates.scale, pass.scale}, std::pair{&rates.limit, pass.limit},
        std::pair{&rates.decay, pass.decay}, std::pair{&rates.decoupled, pass.decoupled}, std::pair{&rates.momentum, pass.momentum},
        std::pair{&rates.rest1, 1 - pass.beta1}, std::pair{&rates.rest2, 1 - pass.beta2}, std::pair{&rates.epsilon, pass.epsilon},
        std::pair{&rates.bias1, pass.bias1}, std::pair{&rates.bias2, pass.bias2}, std::pair{&rates.alpha, pass.alpha},
        std::pair{&rates.ahead, pass.ahead}})
    *to = static_cast<float>(from);
  rates.nesterov = pass.nesterov;
  return rates;
}

LearnerVectors vectors_of(const OptimiserPass& pass) {
  return {static_cast<const float*>(pass.weights), static_cast<float*>(pass.next),   static_cast<const float*>(pass.gradients),
          static_cast<float*>(pass.first),         static_cast<float*>(pass.second), static_cast<float*>(pass.contribution)};
}

}  // namespace

void queue_optimise(const OptimiserPass& pass, DeviceStream& stream) {
  check_type(pass.type);
  const auto* central =
      pass.contribution_kind == OptimiserPass::ContributionKind::correction ? static_cast<const float*>(pass.central) : nullptr;
  in_packs(pass.begin, pass.end, [&]<int V>(std::integral_constant<int, V>, int64_t first, int64_t packs) {
    each(stream, packs, Optimise<V>{vectors_of(pass), rates_of(pass), central, first});
  });
}

void queue_average(const AveragePass& pass, DeviceStream& stream) {
  check_type(pass.type);
  in_packs(pass.begin, pass.end, [&]<int V>(std::integral_constant<int, V>, int64_t first, int64_t packs) {
    Average<V> program{static_cast<const float*>(pass.base),
                       static_cast<float*>(pass.to),
                       {},
                       static_cast<float>(pass.scale),
                       static_cast<float>(pass.base ? pass.mu : 0),
                       first};
    size_t summed = 0;
    do {
      program.summands.count = static_cast<int>(std::min<size_t>(kMostSummands, pass.summands.size() - summed));
      for (int k = 0; k < program.summands.count; ++k)
        program.summands.at[k] = static_cast<const float*>(pass.summands[summed + static_cast<size_t>(k)]);
      each(stream, packs, program);
      summed += static_cast<size_t>(program.summands.count);
      // Those beyond one table are added to what there is.
      program.base = program.to;
      program.mu = 0;
    } while (summed < pass.summands.size());
  });
}

void queue_optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum, DeviceStream& stream) {
  check_type(sum.type);
  in_packs(sum.begin, sum.end, [&]<int V>(std::integral_constant<int, V>, int64_t first, int64_t packs) {
    OptimiseAndAverage<V> program{};
    program.central = static_cast<const float*>(steps.front().central);
    program.base = static_cast<const float*>(sum.base);
    program.to = static_cast<float*>(sum.to);
    program.scale = static_cast<float>(sum.scale);
    program.mu = static_cast<float>(sum.mu);
    program.first_pack = first;
    for (size_t taken = 0; taken < steps.size(); taken += static_cast<size_t>(program.learners)) {
      program.learners = static_cast<int>(std::min<size_t>(kMostTogether, steps.size() - taken));
      for (int k = 0; k < program.learners; ++k) {
        const OptimiserPass& step = steps[taken + static_cast<size_t>(k)];
        program.table[k] = {vectors_of(step), rates_of(step)};
      }
      each(stream, packs, program);
      // Those beyond one table are added to what there is.
      program.base = program.to;
      program.mu = 0;
    }
  });
}

void queue_blend(const BlendPass& pass, DeviceStream& stream) {
  check_type(pass.type);
  in_packs(pass.begin, pass.end, [&]<int V>(std::integral_constant<int, V>, int64_t first, int64_t packs) {
    each(stream, packs,
         Blend<V>{static_cast<const float*>(pass.from), static_cast<const float*>(pass.towards), static_cast<float*>(pass.to),
                  static_cast<float>(pass.weight), first});
  });
}

size_t squares_bytes(std::span<const VectorPart> parts) {
  size_t numbers = parts.size();
  for (const VectorPart& part : parts) numbers += static_cast<size_t>(SquaredPart::blocks_for(static_cast<int64_t>(part.end - part.begin)));
  return numbers * sizeof(double);
}

void queue_squares(Type type, std::span<const VectorPart> parts, double* notes, DeviceStream& stream) {
  check_type(type);
  double *sums = notes, *partials = notes + parts.size();
  for (size_t done = 0; done < parts.size(); done += kMostParts) {
    SquaredParts table;
    for (const VectorPart& part : parts.subspan(done, std::min<size_t>(kMostParts, parts.size() - done)))
      table.add(static_cast<const float*>(part.vector) + part.begin, static_cast<int64_t>(part.end - part.begin));
    reduce(stream, table.blocks, PartialSquares{table, partials});
    reduce(stream, table.count, SumOfPartials{table, partials, sums});
    sums += table.count;
    partials += table.blocks;
  }
}

}  // namespace arbalest::cuda
