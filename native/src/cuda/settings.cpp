#include "cuda/settings.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.h"
#include "cuda/environment.h"

namespace arbalest::cuda {
namespace {

std::atomic<Settings> present;
static_assert(std::atomic<Settings>::is_always_lock_free);

uint16_t read_bank_seats() {
  const char* const wanted = std::getenv("ARBALEST_CUDA_BANK");
  uint16_t seats = 0;
  if (!wanted) return seats;
  const char* const end = wanted + std::strlen(wanted);
  const auto [rest, error] = std::from_chars(wanted, end, seats);
  if (error != std::errc() || rest != end)
    throw Error("INVALID_OPTION",
                std::string("ARBALEST_CUDA_BANK: received ") + wanted + "; give the most learners of a bank, or 0 for none, as in 16");
  return seats;
}

}  // namespace

void read_settings() {
  present = {.bank_seats = read_bank_seats(),
             .graphs = !is_set("ARBALEST_CUDA_GRAPHS", "0"),
             .parts = !is_set("ARBALEST_CUDA_PARTS", "0"),
             .readback = !is_set("ARBALEST_CUDA_READBACK", "0"),
             .side_branch = !is_set("ARBALEST_CUDA_SIDE_BRANCH", "0"),
             .sums = !is_set("ARBALEST_CUDA_SUMS", "0"),
             .dependent_launch = !is_set("ARBALEST_CUDA_DEPENDENT_LAUNCH", "0")};
}

Settings settings() { return present; }

}  // namespace arbalest::cuda
