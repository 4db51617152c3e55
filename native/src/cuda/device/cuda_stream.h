// A stream of the GPU, with the parameters of its present step and the workspace of its libraries.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/device/inlet.h"
#include "cuda/device/outlet.h"
#include "cuda/device_stream.h"
#include "data/dataset.h"

struct cudnnContext;
using cudnnHandle_t = cudnnContext*;

namespace arbalest::cuda {

class CudnnHandle;
class ConvolutionPlan;

class CudaStream final : public DeviceStream {
 public:
  explicit CudaStream(DeviceBackend& backend);
  ~CudaStream() override;
  const StepParameters* parameters() const override { return parameters_; }
  // Where work is queued now.
  cudaStream_t handle() const { return on_side_ ? side_ : stream_; }
  void begin_side() override;
  std::shared_ptr<Event> end_side() override;
  void await_side(const std::shared_ptr<Event>& end) override;
  void run_branches(std::span<const Branch> branches) override;

  // Queued: the parameters of the steps that are queued from now on.
  void set(uint64_t seed, uint64_t position, std::span<const int64_t> samples);
  void bring(const Dataset& batch);
  // The bytes are read when the call returns.
  void read(std::span<const Reading> readings) { outlet_.bring(readings, stream_); }

  // At least `bytes`, used by one operator at a time. A workspace that a recorded graph uses stays where it is.
  void* workspace(size_t bytes);
  // Made at the first call. Throws BACKEND_UNAVAILABLE.
  cudnnHandle_t cudnn();
  // Null until it is set.
  std::shared_ptr<const ConvolutionPlan>& convolution_plan(const std::string& key) { return convolution_plans_[key]; }

 private:
  void queue_copy(void* to, const void* from, size_t bytes) override;
  void send_parameters();

  // The main branch and the side branch of a recording.
  cudaStream_t stream_ = nullptr, side_ = nullptr;
  bool on_side_ = false;
  StepParameters* parameters_ = nullptr;
  StepParameters sent_;  // their values after all queued work
  Inlet samples_{backend()}, batch_{backend()}, labels_{backend()}, targets_{backend()};
  Outlet outlet_;

  struct Block {
    void* data;
    size_t bytes;
  };
  std::vector<Block> workspaces_;
  std::shared_ptr<CudnnHandle> cudnn_;
  std::map<std::string, std::shared_ptr<const ConvolutionPlan>> convolution_plans_;
};

inline cudaStream_t handle_of(DeviceStream& stream) { return static_cast<CudaStream&>(stream).handle(); }

}  // namespace arbalest::cuda
