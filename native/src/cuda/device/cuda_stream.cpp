// What the libraries need of a stream. Apart from the rest: cuDNN's frontend is much to compile.
#include "cuda_stream.h"

#include <algorithm>

#include "../device_backend.h"
#include "cudnn.h"

namespace arbalest::cuda {

CudaStream::~CudaStream() {
  const UsedDevice used(backend().number());
  // Its own work only; what others have queued goes on.
  cudaStreamSynchronize(stream_);
  convolution_plans_.clear();
  cudnn_.reset();
  for (const auto* blocks : {&workspaces_, &beside_})
    for (const Block& block : *blocks) backend().release(block.data, block.bytes);
  backend().release(parameters_, sizeof(StepParameters));
  cudaStreamDestroy(stream_);
}

cudnnHandle_t CudaStream::cudnn() {
  if (!cudnn_) cudnn_ = std::make_shared<CudnnHandle>(stream_);
  return cudnn_->get();
}

void* CudaStream::one_of(std::vector<Block>& blocks, size_t bytes) {
  if (bytes == 0) return nullptr;
  for (const Block& block : blocks)
    if (block.bytes >= bytes) return block.data;
  blocks.push_back({backend().allocate(bytes), bytes});
  return blocks.back().data;
}

}  // namespace arbalest::cuda
