// What environment variables set for all devices of a process. A library reads them when its backend is opened, before any work.
#pragma once

#include <cstdint>

namespace arbalest::cuda {

struct Settings {
  // ARBALEST_CUDA_BANK: the most learners of a bank; with 0 or 1 there are no banks.
  uint16_t bank_seats = 0;
  // For measurements, each turned off by 0.
  bool graphs = true;            // ARBALEST_CUDA_GRAPHS: steps are recorded
  bool parts = true;             // ARBALEST_CUDA_PARTS: a step may be several recordings
  bool readback = true;          // ARBALEST_CUDA_READBACK: the host has the loss of a recorded step before it ends
  bool side_branch = true;       // ARBALEST_CUDA_SIDE_BRANCH: gradients of weights run beside the rest of a recorded step
  bool sums = true;              // ARBALEST_CUDA_SUMS: convolutions give partial sums to batch norms
  bool dependent_launch = true;  // ARBALEST_CUDA_DEPENDENT_LAUNCH: kernels begin before the one before them has ended
};

// Throws INVALID_OPTION if ARBALEST_CUDA_BANK is not a whole number.
void read_settings();
Settings settings();

}  // namespace arbalest::cuda
