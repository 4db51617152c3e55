#include "cuda_backend.h"

#include <cstdlib>

#include "../device_backend.h"
#include "convolution.h"
#include "cuda_stream.h"
#include "matrix_product.h"
#include "memory_pool.h"

namespace arbalest::cuda {
namespace {

// Work recorded as a CUDA graph.
class CudaRecording final : public Recording {
 public:
  CudaRecording(CudaStream& stream, cudaGraph_t graph) : stream_(stream) {
    const cudaError_t made = cudaGraphInstantiate(&ready_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "graph");
    check(cudaGraphUpload(ready_, stream_.handle()), "graph");
  }
  ~CudaRecording() override { cudaGraphExecDestroy(ready_); }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;

  void run() override { check(cudaGraphLaunch(ready_, stream_.handle()), "graph"); }

 private:
  CudaStream& stream_;
  cudaGraphExec_t ready_ = nullptr;
};

// Before the first call that makes a context: learners' streams share this many ways into the GPU.
void prepare_process() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "device");
  check(cudaSetDevice(0), "device");
}

bool wants_tf32() {
  const char* wanted = std::getenv("ARBALEST_TF32");
  return wanted && std::string(wanted) == "1";
}

class CudaBackend final : public DeviceBackend {
 public:
  std::unique_ptr<Stream> stream() override { return std::make_unique<CudaStream>(*this); }

  void* allocate(size_t bytes) override {
    void* memory = pool_.take(bytes);
    check(cudaMemsetAsync(memory, 0, bytes, handle()), "memory");
    check(cudaStreamSynchronize(handle()), "memory");
    return memory;
  }
  void release(void* memory, size_t) noexcept override { pool_.give_back(memory); }

  void zero(void* to, size_t bytes) override { check(cudaMemsetAsync(to, 0, bytes, handle()), "zero"); }
  void read(void* to, const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, handle()), "read");
    synchronise();
  }
  void write(void* to, const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, handle()), "write");
    synchronise();
  }
  std::shared_ptr<Event> record() override {
    auto event = std::make_shared<CudaEvent>();
    check(cudaEventRecord(event->handle(), handle()), "event");
    return event;
  }
  void wait(const std::shared_ptr<Event>& event) override {
    if (event) check(cudaStreamWaitEvent(handle(), static_cast<CudaEvent&>(*event).handle(), 0), "event");
  }
  void synchronise() override { check(cudaStreamSynchronize(handle()), "wait for the GPU"); }
  void begin(const StepContext& step) override { static_cast<CudaStream&>(current()).set(step.seed, step.position, step.samples); }
  void bring(const Dataset& batch) override { static_cast<CudaStream&>(current()).bring(batch); }
  std::unique_ptr<Recording> capture(const std::function<void()>& work) override {
    auto& stream = static_cast<CudaStream&>(current());
    // Of this thread alone: what other learners do meanwhile is not part of it, and not forbidden.
    check(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal), "capture");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream.handle(), &graph);
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream.handle(), &graph), "capture");
    return std::make_unique<CudaRecording>(stream, graph);
  }

  double measure_peak() override { throw Error("UNSUPPORTED_OPERATOR", "measurePeak: the GPU's is measured by `npm run bench -- gpu`"); }

 private:
  cudaStream_t handle() { return handle_of(current()); }
  DeviceStream& own_stream() override { return own_stream_; }
  bool is_on_device(const void* address) const override {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, address), "memory");
    return attributes.type == cudaMemoryTypeDevice;
  }
  MadeKernel make_library(const OperatorSpec& spec, DeviceStream& stream) override {
    if (auto kernel = make_convolution(spec, stream, tf32_)) return kernel;
    return make_matrix_product(spec, stream, tf32_);
  }

  const bool tf32_ = wants_tf32();
  MemoryPool pool_;
  CudaStream own_stream_{*this};
};

}  // namespace

Backend* cuda_backend() {
  // Never destroyed: streams of other threads may still be at work at the process's end.
  static CudaBackend* const backend = [] {
    prepare_process();
    return new CudaBackend;
  }();
  return backend;
}

}  // namespace arbalest::cuda
