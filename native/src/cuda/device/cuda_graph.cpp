#include "cuda_graph.h"

namespace arbalest::cuda {
namespace {

cudaGraph_t recorded(cudaStream_t stream, const std::function<void()>& record) {
  // Of this thread alone: what other learners do meanwhile is not part of it, and not forbidden.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording");
  cudaGraph_t graph = nullptr;
  try {
    record();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    // What it was has been thrown; that the capture is broken follows from it.
    cudaGetLastError();
    if (graph) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "recording");
  return graph;
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
