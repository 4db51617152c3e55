// The check of what the operators of softmax cross-entropy have in common, for the fast kernels and for the reference alike.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"

namespace arbalest {

// Of logits or differences (..., K), the first input. Throws INVALID_PROGRAM. `use` has ShapeChecks.
template <class Use> void check_softmax(const Use& use) {
  const double smoothing = use.attributes().number("smoothing", 0);
  if (!(smoothing >= 0 && smoothing < 1)) use.refuse("smoothing", std::to_string(smoothing), "give a number from 0 to less than 1");
  use.input_rank_at_least(0, 2);
  const std::vector<double> weights = use.attributes().list("weights", {});
  if (!weights.empty() && static_cast<int64_t>(weights.size()) != use.input(0).back())
    use.refuse("weights", std::to_string(weights.size()) + " numbers", "give one for each class");
  for (const double weight : weights)
    if (!(weight >= 0)) use.refuse("weights", std::to_string(weight), "give numbers of at least 0");
}

// Targets that give every class of logits (..., K) a share.
template <class Use> void check_soft_target(const Use& use) {
  check_softmax(use);
  use.input_is(1, use.input(0));
  use.output_is(0, {1});
  use.output_is(1, use.input(0));
  use.output_is(2, {1});
}

}  // namespace arbalest
