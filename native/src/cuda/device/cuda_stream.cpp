// The part of a stream that the libraries use. It is a file of its own because cuDNN's frontend takes long to compile.
#include "cuda/device/cuda_stream.h"

#include <algorithm>

#include "cuda/device/cudnn.h"
#include "cuda/device_backend.h"

namespace arbalest::cuda {

CudaStream::~CudaStream() {
  const UsedDevice used(backend().number());
  // Waits for this stream only; other streams continue.
  cudaStreamSynchronize(stream_);
  convolution_plans_.clear();
  cudnn_.reset();
  for (const Block& block : workspaces_) backend().release(block.data, block.bytes);
  backend().release(parameters_, sizeof(StepParameters));
  if (side_) cudaStreamDestroy(side_);
  cudaStreamDestroy(stream_);
}

cudnnHandle_t CudaStream::cudnn() {
  if (!cudnn_) cudnn_ = std::make_shared<CudnnHandle>(stream_);
  return cudnn_->get();
}

void* CudaStream::workspace(size_t bytes) {
  if (bytes == 0) return nullptr;
  for (const Block& block : workspaces_)
    if (block.bytes >= bytes) return block.data;
  workspaces_.push_back({backend().allocate(bytes), bytes});
  return workspaces_.back().data;
}

}  // namespace arbalest::cuda
