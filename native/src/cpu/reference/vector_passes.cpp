#include "vector_passes.h"

namespace arbalest::reference {
namespace {

[[noreturn]] void refuse(const char* pass) {
  throw Error("INVALID_PROGRAM", std::string(pass) + ": received parameters of another type; keep them in f32 or f64");
}

template <class T> void optimise_as(const OptimiserPass& pass) {
  T* weights = static_cast<T*>(pass.weights);
  T* velocity = static_cast<T*>(pass.velocity);
  T* correction = static_cast<T*>(pass.correction);
  const T* gradients = static_cast<const T*>(pass.gradients);
  const T* central = static_cast<const T*>(pass.central);
  for (size_t i = 0; i < pass.n; ++i) {
    const double w = weights[i], g = gradients[i] + pass.decay * w;
    const double v = (velocity ? pass.momentum * velocity[i] : 0.0) + g;
    const double direction = pass.nesterov ? g + pass.momentum * v : v;
    const double c = central ? pass.alpha * (w - central[i]) : 0.0;
    if (velocity) velocity[i] = static_cast<T>(v);
    if (central) correction[i] = static_cast<T>(c);
    weights[i] = static_cast<T>(w - pass.rate * direction - c);
  }
}

template <class T> void average_as(const AveragePass& pass) {
  const T* central = static_cast<const T*>(pass.central);
  T* before = static_cast<T*>(pass.before);
  for (size_t i = pass.begin; i < pass.end; ++i) {
    double next = central[i];
    for (const void* correction : pass.corrections) next += static_cast<const T*>(correction)[i];
    before[i] = static_cast<T>(next + pass.mu * (double{central[i]} - double{before[i]}));
  }
}

}  // namespace

void optimise(const OptimiserPass& pass) {
  if (pass.type == Type::f32) return optimise_as<float>(pass);
  if (pass.type == Type::f64) return optimise_as<double>(pass);
  refuse("optimise");
}

void average(const AveragePass& pass) {
  if (pass.type == Type::f32) return average_as<float>(pass);
  if (pass.type == Type::f64) return average_as<double>(pass);
  refuse("average");
}

}  // namespace arbalest::reference
