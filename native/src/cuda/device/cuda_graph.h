// Recorded work of a stream, as a graph that runs on this stream any number of times.
#pragma once

#include <functional>

#include "cuda/device/runtime.h"

namespace arbalest::cuda {

class CudaGraph {
 public:
  // `record` queues kernels on `stream` and does nothing else; none of them runs yet. It is called again if another thread has broken the
  // recording. Throws UNSUPPORTED_OPERATOR if a kernel cannot be recorded, and the errors of `record`; the stream is then as before.
  CudaGraph(cudaStream_t stream, const std::function<void()>& record);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void run() { check(cudaGraphLaunch(ready_, stream_), "graph"); }

 private:
  const cudaStream_t stream_;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace arbalest::cuda
