// What environment variables set for all devices of a process. A library reads them when its backend is opened, before any work.
#pragma once

#include <cstdint>

namespace arbalest::cuda {

struct Settings {
  // ARBALEST_CUDA_BANK: the most learners of a bank; with 0 or 1 there are no banks.
  uint32_t bank_seats = 0;
  // For measurements, each turned off by 0. ARBALEST_CUDA_PARTS: a step may be several recordings. ARBALEST_CUDA_READBACK: the host
  // has its loss before it ends. ARBALEST_CUDA_SUMS: convolutions sum for batch norms.
  bool parts = true, readback = true, sums = true;
};

// Throws INVALID_OPTION if ARBALEST_CUDA_BANK is not a whole number.
void read_settings();
Settings settings();

}  // namespace arbalest::cuda
