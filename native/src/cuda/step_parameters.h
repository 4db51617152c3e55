// The numbers that change from step to step, in device memory: a recorded graph reads them there and need not be recorded again.
#pragma once

#include <cstdint>

namespace arbalest::cuda {

struct StepParameters {
  uint64_t seed = 0;
  uint64_t position = 0;             // of the batch's first sample in the endless sequence of epochs
  const int64_t* samples = nullptr;  // (batch) chosen by the learner; null: those that stand at the position
  const void* batch = nullptr;       // (batch, sample...) what streamed in, in its order,
  const int32_t* labels = nullptr;   // (batch, label...) and its class numbers,
  const float* targets = nullptr;    // (batch, target...) or its targets
};

}  // namespace arbalest::cuda
