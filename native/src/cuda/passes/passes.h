// The passes over whole vectors, queued.
#pragma once

#include "../device_stream.h"
#include "backend.h"

namespace arbalest::cuda {

void queue_optimise(const OptimiserPass& pass, DeviceStream& stream);
void queue_average(const AveragePass& pass, DeviceStream& stream);
// Both in one: every step is read and written once, and its correction, what `sum` is over, not at all.
void queue_optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum, DeviceStream& stream);
void queue_blend(const BlendPass& pass, DeviceStream& stream);
// The sum comes to partials[0]; `partials` holds kSquarePartials.
inline constexpr int kSquarePartials = 128;
void queue_squares(Type type, const void* vector, size_t begin, size_t end, double* partials, DeviceStream& stream);

}  // namespace arbalest::cuda
