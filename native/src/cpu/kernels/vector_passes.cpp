#include "vector_passes.h"

#include "elementwise.h"

namespace arbalest::kernels {
namespace {

// Which arrays a pass touches: each of them is read and written once.
struct Momentum {
  bool velocity, nesterov, correction;
};

template <Momentum with> void optimise_floats(const OptimiserPass& pass) {
  auto* const weights = static_cast<float*>(pass.weights);
  const auto* const gradients = static_cast<const float*>(pass.gradients);
  auto* const velocity = static_cast<float*>(pass.velocity);
  const auto* const central = static_cast<const float*>(pass.central);
  auto* const corrections = static_cast<float*>(pass.correction);
  const auto rate = static_cast<float>(pass.rate), momentum = static_cast<float>(pass.momentum);
  const auto decay = static_cast<float>(pass.decay), alpha = static_cast<float>(pass.alpha);
  for_all_registers(static_cast<int64_t>(pass.n), [=]<bool Partial>(int64_t at, int width) {
    const Floats w = load<Partial>(weights + at, width);
    const Floats g = load<Partial>(gradients + at, width) + decay * w;
    Floats step = g;
    if constexpr (with.velocity) {
      const Floats v = momentum * load<Partial>(velocity + at, width) + g;
      store<Partial>(velocity + at, v, width);
      step = with.nesterov ? g + momentum * v : v;
    }
    Floats next = w - rate * step;
    if constexpr (with.correction) {
      const Floats correction = alpha * (w - load<Partial>(central + at, width));
      store<Partial>(corrections + at, correction, width);
      next -= correction;
    }
    store<Partial>(weights + at, next, width);
  });
}

template <size_t Corrections> void average_floats(const AveragePass& pass) {
  const auto* const central = static_cast<const float*>(pass.central);
  auto* const before = static_cast<float*>(pass.before);
  const auto mu = static_cast<float>(pass.mu);
  const size_t count = Corrections ? Corrections : pass.corrections.size();
  const auto begin = static_cast<int64_t>(pass.begin), end = static_cast<int64_t>(pass.end);
  for_each_slice(end - begin, [&](int64_t from, int64_t to) {
    for_each_register(begin + from, begin + to, [&]<bool Partial>(int64_t at, int width) {
      const Floats z = load<Partial>(central + at, width);
      Floats sum = z;
      for (size_t j = 0; j < count; ++j) sum += load<Partial>(static_cast<const float*>(pass.corrections[j]) + at, width);
      store<Partial>(before + at, sum + mu * (z - load<Partial>(before + at, width)), width);
    });
  });
}

void require_floats(Type type) {
  if (type != Type::f32) throw Error("UNSUPPORTED_PRECISION", "vector type: received other than f32; use the reference backend");
}

}  // namespace

void optimise(const OptimiserPass& pass) {
  require_floats(pass.type);
  const bool velocity = pass.velocity && pass.momentum != 0;
  if (pass.central) {
    if (!velocity)
      optimise_floats<{false, false, true}>(pass);
    else if (pass.nesterov)
      optimise_floats<{true, true, true}>(pass);
    else
      optimise_floats<{true, false, true}>(pass);
  } else {
    if (!velocity)
      optimise_floats<{false, false, false}>(pass);
    else if (pass.nesterov)
      optimise_floats<{true, true, false}>(pass);
    else
      optimise_floats<{true, false, false}>(pass);
  }
}

void average(const AveragePass& pass) {
  require_floats(pass.type);
  switch (pass.corrections.size()) {
    case 1: return average_floats<1>(pass);
    case 2: return average_floats<2>(pass);
    case 4: return average_floats<4>(pass);
    default: return average_floats<0>(pass);
  }
}

}  // namespace arbalest::kernels
