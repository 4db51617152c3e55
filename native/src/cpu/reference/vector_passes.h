// The two passes over whole parameter vectors, element by element as backend.h states them; in f32 or f64.
#pragma once

#include "backend.h"

namespace arbalest::reference {

void optimise(const OptimiserPass& pass);
void average(const AveragePass& pass);

}  // namespace arbalest::reference
