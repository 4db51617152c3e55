// The kernel of a posting.
#pragma once

#include <cstdint>

#include "cuda/device_stream.h"
#include "cuda/everywhere.h"
#include "device/posting.h"

namespace arbalest::cuda {

// In memory of the host that the device writes.
struct Posted {
  uint32_t values[Posting::kMost][2] = {};
  // Of the last post. It is written after the values.
  uint64_t number = 0;
};

struct Post {
  const uint32_t* from[Posting::kMost];
  int words[Posting::kMost];
  uint64_t* posts;  // that have been made; on the device, which reads its own memory faster
  Posted* to;

  EVERYWHERE void operator()(int64_t) const {
    for (size_t i = 0; i < Posting::kMost; ++i)
      for (int word = 0; word < words[i]; ++word) to->values[i][word] = from[i][word];
    const uint64_t number = ++*posts;
#if defined(__CUDA_ARCH__)
    __threadfence_system();
    *static_cast<volatile uint64_t*>(&to->number) = number;
#else
    __atomic_store_n(&to->number, number, __ATOMIC_RELEASE);
#endif
  }
};

void queue_post(const Post& post, DeviceStream& stream);

}  // namespace arbalest::cuda
