#include "cuda/device/cuda_graph.h"

namespace arbalest::cuda {
namespace {

// Another thread can break a recording, for example by a wait for the whole device. A second attempt then succeeds.
constexpr int kAttempts = 3;

// Null if the recording was broken and may be tried again.
cudaGraph_t recorded(cudaStream_t stream, const std::function<void()>& record, bool again) {
  // Records this thread alone: other learners may work meanwhile, and are not recorded.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording");
  cudaGraph_t graph = nullptr;
  try {
    record();
  } catch (...) {
    const bool broken = cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated;
    // The error itself has been thrown; the broken capture is its consequence.
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
  const std::lock_guard lock(several_gpus());
  const cudaError_t made = cudaGraphInstantiate(&ready_, graph, 0);
  cudaGraphDestroy(graph);
  check(made, "graph");
  if (const cudaError_t sent = cudaGraphUpload(ready_, stream_); sent != cudaSuccess) {
    cudaGraphExecDestroy(ready_);
    check(sent, "graph");
  }
}

CudaGraph::~CudaGraph() {
  const std::lock_guard lock(several_gpus());
  cudaGraphExecDestroy(ready_);
}

}  // namespace arbalest::cuda
