#include "cuda_stream.h"

#include <cstring>

#include "../device_backend.h"
#include "../launch.h"

namespace arbalest::cuda {
namespace {

// By value: the launch itself carries the numbers, so that nothing on the host has to be kept until the device has read it.
struct SetParameters {
  StepParameters* to;
  StepParameters values;

  EVERYWHERE void operator()(int64_t) const { *to = values; }
};

}  // namespace

bool CudaEvent::reached() {
  const cudaError_t state = cudaEventQuery(event_);
  if (state == cudaErrorNotReady) return false;
  check(state, "event");
  return true;
}

CudaStream::CudaStream(DeviceBackend& backend) : backend_(backend) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  parameters_ = static_cast<StepParameters*>(backend_.allocate(sizeof(StepParameters)));
}

void CudaStream::copy(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copy");
}

void CudaStream::set(const StepParameters& parameters, const int64_t* samples, size_t count) {
  SetParameters program{parameters_, parameters};
  if (count > 0) {
    hold_samples(samples, count);
    program.values.samples = static_cast<const int64_t*>(samples_.data);
  }
  each(*this, 1, program);
}

void CudaStream::hold_samples(const int64_t* samples, size_t count) {
  const size_t bytes = count * sizeof(int64_t);
  if (samples_taken_) check(cudaEventSynchronize(samples_taken_->handle()), "samples");
  if (samples_.bytes < bytes) {
    check(cudaStreamSynchronize(stream_), "samples");
    if (samples_.data) backend_.release(samples_.data, samples_.bytes);
    samples_ = {backend_.allocate(bytes), bytes};
    pinned_samples_ = std::make_unique<PinnedMemory>(bytes);
  }
  std::memcpy(pinned_samples_->data(), samples, bytes);
  check(cudaMemcpyAsync(samples_.data, pinned_samples_->data(), bytes, cudaMemcpyHostToDevice, stream_), "samples");
  if (!samples_taken_) samples_taken_ = std::make_shared<CudaEvent>();
  check(cudaEventRecord(samples_taken_->handle(), stream_), "samples");
}

}  // namespace arbalest::cuda
