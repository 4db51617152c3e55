#include "cpu/reference/vector_passes.h"

#include <algorithm>
#include <cmath>

namespace arbalest::reference {
namespace {

[[noreturn]] void refuse(const char* pass) {
  throw Error("INVALID_PROGRAM", std::string(pass) + ": received parameters of another type; keep them in f32 or f64");
}

// work(T{}) for the vectors' own type.
template <class Work> auto typed(const char* pass, Type type, Work&& work) {
  if (type == Type::f32) return work(float{});
  if (type == Type::f64) return work(double{});
  refuse(pass);
}

template <class T> void optimise_as(const OptimiserPass& pass) {
  const T* weights = static_cast<const T*>(pass.weights);
  const T* gradients = static_cast<const T*>(pass.gradients);
  const T* central = static_cast<const T*>(pass.central);
  T* next = static_cast<T*>(pass.next);
  T* first = static_cast<T*>(pass.first);
  T* second = static_cast<T*>(pass.second);
  T* contribution = static_cast<T*>(pass.contribution);
  for (size_t i = pass.begin; i < pass.end; ++i) {
    const double w = weights[i];
    const double scaled = pass.scale * gradients[i];
    const double g = (scaled > pass.limit ? pass.limit : scaled < -pass.limit ? -pass.limit : scaled) + pass.decay * w;
    double step = 0, position = w;
    if (pass.algorithm == OptimiserPass::Algorithm::adam) {
      const double m = pass.beta1 * first[i] + (1 - pass.beta1) * g, q = pass.beta2 * second[i] + (1 - pass.beta2) * g * g;
      first[i] = static_cast<T>(m);
      second[i] = static_cast<T>(q);
      step = pass.rate * (m / pass.bias1) / (std::sqrt(q / pass.bias2) + pass.epsilon) + pass.rate * pass.decoupled * w;
    } else {
      double direction = g;
      if (pass.algorithm == OptimiserPass::Algorithm::rmsprop) {
        const double q = pass.beta2 * second[i] + (1 - pass.beta2) * g * g;
        second[i] = static_cast<T>(q);
        direction = g / (std::sqrt(q) + pass.epsilon);
      }
      const double before = first ? double{first[i]} : 0.0, v = pass.momentum * before + direction;
      position += pass.ahead * before;
      if (first) first[i] = static_cast<T>(v);
      step = pass.rate * (pass.nesterov ? direction + pass.momentum * v : v);
    }
    double result = w - step;
    switch (pass.contribution_kind) {
      case OptimiserPass::ContributionKind::none: break;
      case OptimiserPass::ContributionKind::correction: {
        const double c = pass.alpha * (position - central[i]);
        contribution[i] = static_cast<T>(c);
        result -= c;
        break;
      }
      case OptimiserPass::ContributionKind::copy: contribution[i] = static_cast<T>(result); break;
      case OptimiserPass::ContributionKind::accumulation: contribution[i] = static_cast<T>(contribution[i] + step); break;
    }
    next[i] = static_cast<T>(result);
  }
}

template <class T> void average_as(const AveragePass& pass) {
  const T* base = static_cast<const T*>(pass.base);
  T* to = static_cast<T*>(pass.to);
  for (size_t i = pass.begin; i < pass.end; ++i) {
    double sum = 0;
    for (const void* summand : pass.summands) sum += static_cast<const T*>(summand)[i];
    double result = pass.scale * sum;
    if (base) result += double{base[i]} + (pass.mu != 0 ? pass.mu * (double{base[i]} - double{to[i]}) : 0.0);
    to[i] = static_cast<T>(result);
  }
}

template <class T> void blend_as(const BlendPass& pass) {
  const T* from = static_cast<const T*>(pass.from);
  const T* towards = static_cast<const T*>(pass.towards);
  T* to = static_cast<T*>(pass.to);
  for (size_t i = pass.begin; i < pass.end; ++i)
    to[i] = pass.weight == 1 ? towards[i] : static_cast<T>(from[i] + pass.weight * (double{towards[i]} - double{from[i]}));
}

}  // namespace

void optimise(const OptimiserPass& pass) {
  typed("optimise", pass.type, [&](auto number) { optimise_as<decltype(number)>(pass); });
}

void average(const AveragePass& pass) {
  typed("average", pass.type, [&](auto number) { average_as<decltype(number)>(pass); });
}

void blend(const BlendPass& pass) {
  typed("blend", pass.type, [&](auto number) { blend_as<decltype(number)>(pass); });
}

double squares(Type type, const void* vector, size_t begin, size_t end) {
  return typed("squares", type, [&](auto number) {
    const auto* values = static_cast<const decltype(number)*>(vector);
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += double{values[i]} * double{values[i]};
    return sum;
  });
}

}  // namespace arbalest::reference
