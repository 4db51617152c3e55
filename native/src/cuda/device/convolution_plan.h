// One of cuDNN's plans to compute a convolution or a gradient of it. It is chosen once for a shape and run often.
#pragma once

#include <cudnn_frontend.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "cuda/device/cuda_stream.h"
#include "cuda/operator_attributes.h"

namespace arbalest::cuda {

enum class Direction { forward, data, weights };

// y = x * w, and the one of the three that is computed from the others. All have channels last.
struct ConvolutionTensors {
  Direction direction;
  Tensor x, w, y;
};

class ConvolutionPlan {
 public:
  using Pointers = std::unordered_map<int64_t, void*>;

  // Operators of one shape on one stream share a plan; cuDNN does not promise that several threads may. For a new shape, plans are timed
  // over these tensors, whose result is overwritten. `tf32` lets f32 run on the tensor cores. Throws UNSUPPORTED_OPERATOR and
  // OUT_OF_MEMORY.
  static std::shared_ptr<const ConvolutionPlan> of(const ConvolutionTensors& tensors, const Attributes& attributes, bool tf32,
                                                   CudaStream& stream);
  static Pointers pointers(const ConvolutionTensors& tensors);

  ConvolutionPlan(const ConvolutionTensors& tensors, const Window& window, bool tf32, const std::string& key, CudaStream& stream);

  // Queues it over the tensors of these pointers.
  void run(Pointers& pointers) const;

 private:
  void build(const ConvolutionTensors& tensors, const Window& window, bool tf32);
  void choose(const std::string& key, Pointers pointers);
  bool take(const std::string& wanted);
  // `lacked_memory`: some plans were skipped because there was no memory for their workspaces.
  struct Found {
    int64_t plan;
    bool lacked_memory;
  };
  // Throws OUT_OF_MEMORY if there is memory for the workspace of no plan.
  Found fastest(Pointers& pointers);
  std::optional<float> time_of(int64_t plan, size_t bytes, Pointers& pointers);

  CudaStream& stream_;
  cudnn_frontend::graph::Graph graph_;
  int64_t plan_ = 0;
  void* workspace_ = nullptr;
};

}  // namespace arbalest::cuda
