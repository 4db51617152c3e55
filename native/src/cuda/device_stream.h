// What the operators need of a stream, whether a GPU's or the stand-in's.
#pragma once

#include <cstddef>

#include "step_parameters.h"
#include "stream.h"

namespace arbalest::cuda {

class DeviceBackend;

class DeviceStream : public Stream {
 public:
  virtual DeviceBackend& backend() = 0;
  // Between two places in device memory, as kernels see them.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  // Device memory that each step's beginning fills; its address never changes.
  virtual const StepParameters* parameters() const = 0;
};

}  // namespace arbalest::cuda
