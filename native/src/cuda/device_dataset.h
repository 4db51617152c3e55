// The copy of a data set in device memory. It is made when a program that loads from it is first bound, and lives as long as the data set.
#pragma once

#include <memory>

#include "cuda/device_stream.h"
#include "data/dataset.h"

namespace arbalest::cuda {

struct DeviceDataset {
  const void* samples = nullptr;    // (count, sample...) of sample_type
  const int32_t* labels = nullptr;  // (count), or null
  const float* targets = nullptr;   // (count, target...), or null
};

// Throws OUT_OF_MEMORY.
std::shared_ptr<const DeviceDataset> device_dataset(const Dataset& dataset, DeviceStream& stream);

}  // namespace arbalest::cuda
