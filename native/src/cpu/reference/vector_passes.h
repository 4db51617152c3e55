// The passes over parameter vectors, element by element as device/vector_passes.h defines them; in f32 or f64.
#pragma once

#include "device/backend.h"

namespace arbalest::reference {

void optimise(const OptimiserPass& pass);
void average(const AveragePass& pass);
void blend(const BlendPass& pass);
double squares(Type type, const void* vector, size_t begin, size_t end);

}  // namespace arbalest::reference
