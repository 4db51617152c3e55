// The checks of binary cross-entropy, for the fast kernels and for the reference alike.
#pragma once

#include <string>
#include <vector>

#include "core/labels_of.h"

namespace arbalest {

// Throws INVALID_PROGRAM. `use` has ShapeChecks.
template <class Use> void check_positive_weights(const Use& use) {
  use.input_is(1, use.input(0));
  const std::vector<double> weights = use.attributes().list("weights", {});
  const int64_t labels = LabelsOf(use.input(0)).count;
  if (!weights.empty() && static_cast<int64_t>(weights.size()) != labels)
    use.refuse("weights", std::to_string(weights.size()) + " numbers", "give one for each of " + std::to_string(labels) + " labels");
  for (const double weight : weights)
    if (!(weight >= 0)) use.refuse("weights", std::to_string(weight), "give numbers of at least 0");
}

template <class Use> void check_binary_cross_entropy(const Use& use) {
  check_positive_weights(use);
  use.output_is(0, {1});
  use.output_is(1, {1});
}

template <class Use> void check_binary_cross_entropy_backward(const Use& use) {
  check_positive_weights(use);
  use.output_is(0, use.input(0));
}

}  // namespace arbalest
