#include "cuda/device/outlet.h"

#include <cstring>

#include "device/backend.h"

namespace arbalest::cuda {
namespace {

size_t room_of(const Reading& reading) { return (reading.bytes + Outlet::kAligned - 1) / Outlet::kAligned * Outlet::kAligned; }

}  // namespace

bool Outlet::holds(std::span<const Reading> readings) {
  size_t wanted = 0;
  for (const Reading& reading : readings) {
    if (reading.bytes > kBytes) return false;
    wanted += room_of(reading);
  }
  return wanted <= kBytes;
}

void Outlet::bring(std::span<const Reading> readings, cudaStream_t stream) {
  const std::lock_guard turn(turn_);
  auto* landed = static_cast<std::byte*>(memory_.data());
  for (const Reading& reading : readings) {
    check(cudaMemcpyAsync(landed, reading.from, reading.bytes, cudaMemcpyDeviceToHost, stream), "read");
    landed += room_of(reading);
  }
  check(cudaStreamSynchronize(stream), "wait for the GPU");
  landed = static_cast<std::byte*>(memory_.data());
  for (const Reading& reading : readings) {
    std::memcpy(reading.to, landed, reading.bytes);
    landed += room_of(reading);
  }
}

}  // namespace arbalest::cuda
