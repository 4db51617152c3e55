#include "cuda/device/cuda_stream.h"

#include "cuda/device/cuda_event.h"
#include "cuda/device_backend.h"
#include "cuda/launch.h"

namespace arbalest::cuda {
namespace {

// By value: the launch carries the numbers, so that no memory of the host has to be kept until the device has read it.
struct SetParameters {
  StepParameters* to;
  StepParameters values;

  EVERYWHERE void operator()(int64_t) const { *to = values; }
};

}  // namespace

CudaStream::CudaStream(DeviceBackend& backend) : DeviceStream(backend) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  try {
    parameters_ = static_cast<StepParameters*>(backend.allocate(sizeof(StepParameters)));
  } catch (...) {
    // As where the GPU has no memory left for one more learner: no destructor ends this stream.
    cudaStreamDestroy(stream_);
    throw;
  }
}

void CudaStream::begin_side() {
  if (!side_) check(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "stream");
  const CudaEvent begin;
  check(cudaEventRecord(begin.handle(), stream_), "event");
  check(cudaStreamWaitEvent(side_, begin.handle(), 0), "event");
  on_side_ = true;
}

std::shared_ptr<Event> CudaStream::end_side() {
  on_side_ = false;
  auto end = std::make_shared<CudaEvent>();
  check(cudaEventRecord(end->handle(), side_), "event");
  return end;
}

void CudaStream::await_side(const std::shared_ptr<Event>& end) {
  check(cudaStreamWaitEvent(stream_, static_cast<CudaEvent&>(*end).handle(), 0), "event");
}

void CudaStream::run_branches(std::span<const Branch> branches) {
  const CudaEvent begin;
  check(cudaEventRecord(begin.handle(), stream_), "event");
  std::vector<CudaEvent> ends(branches.size());
  for (size_t i = 0; i < branches.size(); ++i) {
    const cudaStream_t other = handle_of(branches[i].stream);
    check(cudaStreamWaitEvent(other, begin.handle(), 0), "event");
    branches[i].work();
    check(cudaEventRecord(ends[i].handle(), other), "event");
  }
  for (const CudaEvent& end : ends) check(cudaStreamWaitEvent(stream_, end.handle(), 0), "event");
}

void CudaStream::queue_copy(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copy");
}

void CudaStream::set(uint64_t seed, uint64_t position, std::span<const int64_t> samples) {
  sent_.seed = seed;
  sent_.position = position;
  sent_.samples = samples.empty() ? nullptr : static_cast<const int64_t*>(samples_.bring(samples.data(), samples.size_bytes(), stream_));
  send_parameters();
}

void CudaStream::bring(const Dataset& batch) {
  sent_.batch = batch_.bring(batch.samples.data(), batch.samples.size(), stream_);
  if (batch.classifies())
    sent_.labels = static_cast<const int32_t*>(labels_.bring(batch.labels.data(), batch.labels.size() * sizeof(int32_t), stream_));
  else
    sent_.targets = static_cast<const float*>(targets_.bring(batch.targets.data(), batch.targets.size() * sizeof(float), stream_));
  send_parameters();
}

void CudaStream::send_parameters() { each(*this, 1, SetParameters{parameters_, sent_}); }

}  // namespace arbalest::cuda
