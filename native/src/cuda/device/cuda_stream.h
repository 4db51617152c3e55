// A stream of the GPU, with the block that its steps' beginnings fill and the workspace that its libraries use.
#pragma once

#include <memory>
#include <vector>

#include "../device_stream.h"
#include "runtime.h"

struct cudnnContext;
using cudnnHandle_t = cudnnContext*;

namespace arbalest::cuda {

class CudnnHandle;

class CudaEvent final : public Event {
 public:
  CudaEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event"); }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  bool reached() override;
  cudaEvent_t handle() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream final : public DeviceStream {
 public:
  explicit CudaStream(DeviceBackend& backend);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  DeviceBackend& backend() override { return backend_; }
  void copy(void* to, const void* from, size_t bytes) override;
  const StepParameters* parameters() const override { return parameters_; }
  cudaStream_t handle() const { return stream_; }

  // Queued: what changes from here on. Samples wait for those before them to have been read.
  void set(const StepParameters& parameters, const int64_t* samples, size_t count);

  // At least so many bytes, one operator's at a time; what a captured graph has been given stays where it is.
  void* workspace(size_t bytes);
  // Memory that no other operator's workspace overlaps.
  void* workspace_beside(size_t bytes);
  // Made at the first call. Throws BACKEND_UNAVAILABLE.
  cudnnHandle_t cudnn();

 private:
  void hold_samples(const int64_t* samples, size_t count);

  DeviceBackend& backend_;
  cudaStream_t stream_ = nullptr;
  StepParameters* parameters_ = nullptr;

  struct Block {
    void* data;
    size_t bytes;
  };
  std::vector<Block> workspaces_, beside_;
  std::shared_ptr<CudnnHandle> cudnn_;
  std::unique_ptr<PinnedMemory> pinned_samples_;
  std::shared_ptr<CudaEvent> samples_taken_;
  Block samples_{nullptr, 0};
};

inline cudaStream_t handle_of(DeviceStream& stream) { return static_cast<CudaStream&>(stream).handle(); }

}  // namespace arbalest::cuda
