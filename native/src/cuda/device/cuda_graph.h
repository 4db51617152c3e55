// Work that a stream was given to be recorded, as a graph that runs there as often as is wanted.
#pragma once

#include <functional>

#include "cuda/device/runtime.h"

namespace arbalest::cuda {

class CudaGraph {
 public:
  // `record` queues kernels on `stream` and nothing else; none of them runs yet. It is called again where another thread has broken it.
  // Throws UNSUPPORTED_OPERATOR where one of them cannot be recorded, and whatever `record` throws; the stream is as before.
  CudaGraph(cudaStream_t stream, const std::function<void()>& record);
  ~CudaGraph() { cudaGraphExecDestroy(ready_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void run() { check(cudaGraphLaunch(ready_, stream_), "graph"); }

 private:
  const cudaStream_t stream_;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace arbalest::cuda
