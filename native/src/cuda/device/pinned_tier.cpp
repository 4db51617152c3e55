#include "cuda/device/pinned_tier.h"

#include <utility>

#include "cuda/device/cuda_stream.h"

namespace arbalest::cuda {
namespace {

constexpr const char* kWhat = "moved values";

}  // namespace

PinnedTier::PinnedTier(size_t bytes, std::function<DeviceStream&()> computing) : memory_(bytes), computing_(std::move(computing)) {
  check(cudaStreamCreateWithFlags(&out_, cudaStreamNonBlocking), kWhat);
  const cudaError_t made = cudaStreamCreateWithFlags(&in_, cudaStreamNonBlocking);
  if (made != cudaSuccess) cudaStreamDestroy(out_);
  check(made, kWhat);
}

PinnedTier::~PinnedTier() {
  for (const cudaStream_t stream : {out_, in_}) {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
}

void PinnedTier::store(size_t transfer, const void* from, size_t offset, size_t bytes) {
  computing_().side_branch().await(Accesses::reading(from, bytes));
  copy(transfer, at(offset), from, bytes, cudaMemcpyDeviceToHost);
}

void PinnedTier::fetch(size_t transfer, size_t offset, void* to, size_t bytes) {
  computing_().side_branch().await(Accesses::writing(to, bytes));
  copy(transfer, to, at(offset), bytes, cudaMemcpyHostToDevice);
}

void PinnedTier::copy(size_t transfer, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaStream_t stream = kind == cudaMemcpyDeviceToHost ? out_ : in_;
  const Events& events = events_[transfer];
  check(cudaEventRecord(events.ready.handle(), handle_of(computing_())), kWhat);
  check(cudaStreamWaitEvent(stream, events.ready.handle(), 0), kWhat);
  ++unsettled_;
  check(cudaMemcpyAsync(to, from, bytes, kind, stream), kWhat);
  check(cudaEventRecord(events.done.handle(), stream), kWhat);
}

void PinnedTier::settle(size_t transfer) {
  check(cudaStreamWaitEvent(handle_of(computing_()), events_[transfer].done.handle(), 0), kWhat);
  --unsettled_;
}

void PinnedTier::abandon() noexcept {
  if (std::exchange(unsettled_, 0) == 0) return;
  // An error of the device comes back from the next call that uses it.
  for (const auto& [stream, event] : {std::pair{out_, &abandoned_.ready}, std::pair{in_, &abandoned_.done}}) {
    cudaEventRecord(event->handle(), stream);
    cudaStreamWaitEvent(handle_of(computing_()), event->handle(), 0);
  }
}

}  // namespace arbalest::cuda
