// The kernel of a readback.
#pragma once

#include <cstdint>

#include "core/everywhere.h"
#include "cuda/device_stream.h"
#include "device/readback.h"

namespace arbalest::cuda {

// In memory of the host that the device writes.
struct ReadValues {
  uint32_t values[Readback::kMost][2] = {};
  // Of the last readback. It is written after the values.
  uint64_t number = 0;
};

struct ReadBack {
  const uint32_t* from[Readback::kMost];
  int words[Readback::kMost];
  uint64_t* made;  // how many; on the device, which reads its own memory faster
  ReadValues* to;

  EVERYWHERE void operator()(int64_t) const {
    for (size_t i = 0; i < Readback::kMost; ++i)
      for (int word = 0; word < words[i]; ++word) to->values[i][word] = from[i][word];
    const uint64_t number = ++*made;
#if defined(__CUDA_ARCH__)
    __threadfence_system();
    *static_cast<volatile uint64_t*>(&to->number) = number;
#else
    __atomic_store_n(&to->number, number, __ATOMIC_RELEASE);
#endif
  }
};

void queue_read_back(const ReadBack& kernel, DeviceStream& stream);

}  // namespace arbalest::cuda
