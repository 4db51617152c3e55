// A point in a stream of the GPU.
#pragma once

#include "cuda/device/runtime.h"
#include "device/stream.h"

namespace arbalest::cuda {

class CudaEvent final : public Event {
 public:
  CudaEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event"); }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  bool reached() override {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) {
      // "Not ready" is an answer, but also the thread's last error: clear it, or the next launch reports it.
      cudaGetLastError();
      return false;
    }
    check(state, "event");
    return true;
  }
  cudaEvent_t handle() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace arbalest::cuda
