// The passes over parameter vectors, and the processor's peak.
#pragma once

#include "device/backend.h"

namespace arbalest::kernels {

// All throw UNSUPPORTED_PRECISION for anything but f32.
void optimise(const OptimiserPass& pass);
// Writes no corrections where the sum alone reads them.
void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum);
void average(const AveragePass& pass);
void blend(const BlendPass& pass);
double squares(Type type, const void* vector, size_t begin, size_t end);

double measure_peak();

}  // namespace arbalest::kernels
