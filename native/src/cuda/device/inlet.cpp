#include "cuda/device/inlet.h"

#include <cstring>
#include <utility>

#include "cuda/device_backend.h"

namespace arbalest::cuda {

Inlet::~Inlet() {
  if (data_) backend_.release(data_, bytes_);
}

const void* Inlet::bring(const void* from, size_t bytes, cudaStream_t stream) {
  Pinned& pinned = pinned_[turn_];
  turn_ = 1 - turn_;
  check(cudaEventSynchronize(pinned.read.handle()), "what goes to the GPU");
  if (pinned.bytes < bytes) {
    pinned.memory = std::make_unique<PinnedMemory>(bytes);
    pinned.bytes = bytes;
  }
  if (bytes_ < bytes) {
    // Kernels may still read the old memory.
    check(cudaStreamSynchronize(stream), "what goes to the GPU");
    if (void* const smaller = std::exchange(data_, nullptr)) backend_.release(smaller, std::exchange(bytes_, 0));
    data_ = backend_.allocate(bytes);
    bytes_ = bytes;
  }
  std::memcpy(pinned.memory->data(), from, bytes);
  check(cudaMemcpyAsync(data_, pinned.memory->data(), bytes, cudaMemcpyHostToDevice, stream), "what goes to the GPU");
  check(cudaEventRecord(pinned.read.handle(), stream), "what goes to the GPU");
  return data_;
}

}  // namespace arbalest::cuda
