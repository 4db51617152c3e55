// Any parameter layout: refused with a code, or its vectors go to canonical order and back unchanged, and any optimiser steps over them.
#include <cstdlib>

#include "device/parameter_vectors.h"
#include "guarded_backend.h"
#include "harness.h"

namespace arbalest::fuzz {
namespace {

void round_trip(Backend& backend, const ParameterLayout& layout) {
  Memory vector(backend, layout.bytes);
  std::vector<std::byte> canonical(layout.elements * size_of(layout.type())), again(canonical.size());
  for (size_t i = 0; i < canonical.size(); ++i) canonical[i] = static_cast<std::byte>(i % 61);
  from_canonical(backend, layout, canonical.data(), vector.data());
  to_canonical(backend, layout, vector.data(), again.data());
  if (canonical != again) std::abort();
}

void step(Backend& backend, const ParameterLayout& layout, Input& input) {
  Optimiser optimiser(backend, layout, optimiser_spec(input.attributes()));
  const size_t elements = layout.bytes / size_of(layout.type());
  Memory weights(backend, layout.bytes), gradients(backend, layout.bytes);
  OptimiserPass pass;
  pass.weights = weights.data();
  pass.next = weights.data();
  pass.gradients = gradients.data();
  pass.rate = input.real();
  for (size_t left = input.below(3); left > 0; --left) {
    optimiser.begin(weights.data(), gradients.data(), input.real());
    optimiser.apply(pass, 0, elements / 2);
    optimiser.apply(pass, elements / 2, elements);
  }
  Snapshot snapshot(backend, layout);
  optimiser.capture(snapshot, "");
  optimiser.restore(snapshot, "");
}

}  // namespace

void run(Input& input) {
  Backend& backend = guarded_backend();
  const ParameterLayout layout = input.layout();
  check_layout(layout);
  check_sizes(backend, layout);
  round_trip(backend, layout);
  step(backend, layout, input);
}

}  // namespace arbalest::fuzz
