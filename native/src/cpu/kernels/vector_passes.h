// The passes over whole parameter vectors, and the processor's peak.
#pragma once

#include "backend.h"

namespace arbalest::kernels {

// Both throw UNSUPPORTED_PRECISION for anything but f32.
void optimise(const OptimiserPass& pass);
void average(const AveragePass& pass);

double measure_peak();

}  // namespace arbalest::kernels
