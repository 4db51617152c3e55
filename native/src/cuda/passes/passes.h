// The passes over whole vectors, queued.
#pragma once

#include "cuda/device_stream.h"
#include "device/backend.h"

namespace arbalest::cuda {

void queue_optimise(const OptimiserPass& pass, DeviceStream& stream);
void queue_average(const AveragePass& pass, DeviceStream& stream);
// Both in one: the vectors of every step are read and written once; the corrections that `sum` adds are neither read nor written.
void queue_optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum, DeviceStream& stream);
void queue_blend(const BlendPass& pass, DeviceStream& stream);
// Writes the sums of the squares of all parts to the beginning of `notes`, which has squares_bytes(parts).
size_t squares_bytes(std::span<const VectorPart> parts);
void queue_squares(Type type, std::span<const VectorPart> parts, double* notes, DeviceStream& stream);

}  // namespace arbalest::cuda
