#include "cuda/device/cuda_backend.h"

#include <mutex>
#include <vector>

#include "cuda/device/convolution.h"
#include "cuda/device/cuda_graph.h"
#include "cuda/device/cuda_stream.h"
#include "cuda/device/matrix_product.h"
#include "cuda/device/memory_pool.h"
#include "cuda/device/nccl_collective.h"
#include "cuda/device/own_code.h"
#include "cuda/device/pinned_tier.h"
#include "cuda/device_backend.h"
#include "cuda/environment.h"

namespace arbalest::cuda {
namespace {

class CudaRecording final : public Recording {
 public:
  CudaRecording(CudaStream& stream, const std::function<void()>& work)
      : graph_(stream.handle(), [&] { stream.side_branch().record(work); }) {}
  double run() override {
    graph_.run();
    return 0;
  }

 private:
  CudaGraph graph_;
};

int counted_gpus() {
  prepare_environment();
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "device");
  return devices;
}

int gpu_count() {
  static const int count = counted_gpus();
  return count;
}

// Hopper's, the first that has them.
constexpr int kClusters = 90;

// Of the calling thread's device. Kernels that were compiled for an earlier one would neither meet in clusters nor wait for the kernel
// before them. Throws BACKEND_UNAVAILABLE for a device without code, as the first launch would.
bool has_clusters(int device) {
  int has = 0;
  check(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, device), "device");
  return architecture_of_own_code() >= kClusters && has != 0;
}

class CudaBackend final : public DeviceBackend {
 public:
  // The device must be the calling thread's current one.
  explicit CudaBackend(int number) : DeviceBackend(number) {}

  int device_count() override { return gpu_count(); }
  int max_cluster_size() const override { return clusters_ ? kMaxClusterSize : 1; }
  bool launches_dependently() const override { return clusters_ && settings().dependent_launch; }
  Backend& device(int number) override { return *cuda_backend(number); }
  std::unique_ptr<Collective> collective(int devices, std::shared_ptr<Peers> peers) override {
    return nccl_collective(devices, std::move(peers));
  }
  void make_current() const noexcept override { use_device(number()); }

  std::unique_ptr<Stream> stream() override {
    const UsedDevice used(number());
    return std::make_unique<CudaStream>(*this);
  }

  void* take(size_t bytes) override {
    const cudaStream_t stream = handle();
    void* memory = pool_.take(bytes);
    check(cudaMemsetAsync(memory, 0, bytes, stream), "memory");
    check(cudaStreamSynchronize(stream), "memory");
    return memory;
  }
  void give_back(void* memory, size_t) noexcept override { pool_.give_back(memory); }
  void reserve(size_t bytes) override {
    const UsedDevice used(number());
    pool_.reserve(bytes);
  }

  void zero(void* to, size_t bytes) override { check(cudaMemsetAsync(to, 0, bytes, handle()), "zero"); }
  std::optional<size_t> free_memory() override {
    const UsedDevice used(number());
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "memory");
    return free + pool_.unused();
  }

  void read(void* to, const void* from, size_t bytes) override {
    const Reading reading{to, from, bytes};
    if (Outlet::holds({&reading, 1})) return read_together({&reading, 1});
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, handle()), "read");
    synchronise();
  }
  void read_together(std::span<const Reading> readings) override {
    if (!Outlet::holds(readings)) return DeviceBackend::read_together(readings);
    static_cast<CudaStream&>(current()).read(readings);
  }
  void write(void* to, const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, handle()), "write");
    synchronise();
  }
  std::unique_ptr<HostTier> host_tier(size_t bytes, const std::optional<TransferTiming>&) override {
    const UsedDevice used(number());
    return std::make_unique<PinnedTier>(bytes, [this]() -> DeviceStream& { return current(); });
  }
  std::shared_ptr<Event> mark() override {
    const cudaStream_t stream = handle();
    auto event = std::make_shared<CudaEvent>();
    check(cudaEventRecord(event->handle(), stream), "event");
    return event;
  }
  void queue_after(const std::shared_ptr<Event>& event) override {
    if (event) check(cudaStreamWaitEvent(handle(), static_cast<CudaEvent&>(*event).handle(), 0), "event");
  }
  std::shared_ptr<void> host_memory(size_t bytes) override {
    const auto memory = std::make_shared<PinnedMemory>(bytes);
    return {memory, memory->data()};
  }
  bool is_idle() override {
    const cudaError_t state = cudaStreamQuery(handle());
    if (state != cudaErrorNotReady) check(state, "wait for the GPU");
    // "Not ready" is an answer, but also the thread's last error: clear it, or the next launch reports it.
    cudaGetLastError();
    return state == cudaSuccess;
  }
  void synchronise() override { check(cudaStreamSynchronize(handle()), "wait for the GPU"); }
  void begin(const StepContext& step) override { static_cast<CudaStream&>(current()).set(step.seed, step.position, step.samples); }
  void bring(const Dataset& batch) override { static_cast<CudaStream&>(current()).bring(batch); }
  std::unique_ptr<Recording> record(DeviceStream& stream, const std::function<void()>& work) override {
    return std::make_unique<CudaRecording>(static_cast<CudaStream&>(stream), work);
  }

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

  const bool tf32_ = is_set("ARBALEST_TF32", "1");
  // All GPUs with clusters, and no others, have both.
  const bool clusters_ = has_clusters(number());
  MemoryPool pool_;
  CudaStream own_stream_{*this};
};

}  // namespace

Backend* cuda_backend(int device) {
  static std::mutex mutex;
  // Never destroyed: when the process ends, streams of other threads may still be at work.
  static auto& backends = *new std::vector<CudaBackend*>(static_cast<size_t>(gpu_count()));
  const std::lock_guard lock(mutex);
  CudaBackend*& backend = backends.at(static_cast<size_t>(device));
  if (backend) return backend;
  const UsedDevice used(device);
  prepare_device();
  return backend = new CudaBackend(device);
}

}  // namespace arbalest::cuda
