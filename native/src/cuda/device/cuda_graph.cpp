#include "cuda/device/cuda_graph.h"

namespace arbalest::cuda {
namespace {

// What breaks a recording from outside, as a wait of some other thread for the whole device, is over when it is tried again.
constexpr int kAttempts = 3;

// Null, having thrown nothing, where it was broken and may be tried again.
cudaGraph_t recorded(cudaStream_t stream, const std::function<void()>& record, bool again) {
  // Of this thread alone: what other learners do meanwhile is not part of it, and not forbidden.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording");
  cudaGraph_t graph = nullptr;
  try {
    record();
  } catch (...) {
    const bool broken = cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated;
    // What it was has been thrown; that the capture is broken follows from it.
    cudaGetLastError();
    if (graph) cudaGraphDestroy(graph);
    if (broken && again) return nullptr;
    throw;
  }
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (ended == cudaErrorStreamCaptureInvalidated && again) {
    cudaGetLastError();
    return nullptr;
  }
  check(ended, "recording");
  return graph;
}

cudaGraph_t recorded(cudaStream_t stream, const std::function<void()>& record) {
  for (int attempt = 1;; ++attempt)
    if (const cudaGraph_t graph = recorded(stream, record, attempt < kAttempts)) return graph;
}

}  // namespace

CudaGraph::CudaGraph(cudaStream_t stream, const std::function<void()>& record) : stream_(stream) {
  const cudaGraph_t graph = recorded(stream, record);
  const cudaError_t made = cudaGraphInstantiate(&ready_, graph, 0);
  cudaGraphDestroy(graph);
  check(made, "graph");
  if (const cudaError_t sent = cudaGraphUpload(ready_, stream_); sent != cudaSuccess) {
    cudaGraphExecDestroy(ready_);
    check(sent, "graph");
  }
}

}  // namespace arbalest::cuda
