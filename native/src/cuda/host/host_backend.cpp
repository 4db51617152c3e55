#include "cuda/host/host_backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "cuda/device_backend.h"
#include "cuda/host/host_collective.h"
#include "cuda/host/host_memory.h"
#include "cuda/host/host_stream.h"
#include "cuda/host/host_tier.h"
#include "cuda/host/launches.h"
#include "cuda/host/library_kernels.h"
#include "cuda/launch.h"
#include "cuda/learner_bank.h"
#include "cuda/reserved_memory.h"
#include "interface_hash.h"

namespace arbalest::cuda {
namespace {

// Of the host in this process, for a stream that has run recordings since the wait before.
std::atomic<int64_t> waits_for_recordings{0};

class HostRecording final : public Recording {
 public:
  HostRecording(HostStream& stream, std::vector<std::function<void()>> work) : stream_(stream), work_(std::move(work)) {}
  double run() override {
    stream_.run(work_);
    return 0;
  }

 private:
  HostStream& stream_;
  const std::vector<std::function<void()>> work_;
};

class HostBackend final : public DeviceBackend {
 public:
  explicit HostBackend(int number) : DeviceBackend(number) {}

  int device_count() override { return kHostDevices; }
  int max_cluster_size() const override { return kMaxClusterSize; }
  Backend& device(int number) override { return *host_backend(number); }
  std::unique_ptr<Collective> collective(int devices, std::shared_ptr<Peers> peers) override {
    return host_collective(devices, std::move(peers));
  }

  std::unique_ptr<Stream> stream() override { return std::make_unique<HostStream>(*this); }

  void* take(size_t bytes) override {
    const std::lock_guard lock(memory_);
    const size_t wanted = rounded_up(bytes);
    if (void* const piece = reserved_.take(wanted)) return device_address(std::memset(piece, 0, wanted), number());
    return device_address(from_machine(wanted), number());
  }
  void give_back(void* memory, size_t bytes) noexcept override {
    if (!memory) return;
    const std::lock_guard lock(memory_);
    if (!reserved_.give_back(own_address(memory))) to_machine(own_address(memory), rounded_up(bytes));
  }
  void reserve(size_t bytes) override {
    const std::lock_guard lock(memory_);
    const size_t wanted = rounded_up(bytes);
    if (reserved_.unused() < wanted) reserved_.add(from_machine(wanted), wanted);
  }
  std::optional<size_t> free_memory() override {
    const std::lock_guard lock(memory_);
    const std::optional<size_t> left = left_in_machine();
    return left ? std::optional(*left + reserved_.unused()) : std::nullopt;
  }

  void* seen(const void* address) const override {
    if (on_device(address) && device_of(address) != number())
      throw Error("INTERNAL", "device " + std::to_string(number()) + ": it is given memory of device " +
                                  std::to_string(device_of(address)) + "; report this");
    return const_cast<void*>(own_address(address));
  }

  void zero(void* to, size_t bytes) override {
    queue_of(current()).submit([to = seen(to), bytes] { std::memset(to, 0, bytes); });
  }
  void read(void* to, const void* from, size_t bytes) override {
    synchronise();
    std::memcpy(to, seen(from), bytes);
  }
  void write(void* to, const void* from, size_t bytes) override {
    synchronise();
    std::memcpy(seen(to), from, bytes);
  }
  std::unique_ptr<HostTier> host_tier(size_t bytes, const std::optional<TransferTiming>& timing) override {
    return std::make_unique<StreamedTier>(*this, bytes, timing, [this]() -> HostStream& { return queue_of(current()); });
  }
  std::shared_ptr<Event> mark() override { return queue_of(current()).mark(); }
  void queue_after(const std::shared_ptr<Event>& event) override {
    if (event) queue_of(current()).queue_after(std::static_pointer_cast<HostEvent>(event));
  }
  std::shared_ptr<void> host_memory(size_t bytes) override {
    return {new std::max_align_t[(bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)],
            [](void* memory) { delete[] static_cast<std::max_align_t*>(memory); }};
  }
  bool is_idle() override { return queue_of(current()).is_idle(); }
  void synchronise() override {
    HostStream& queue = queue_of(current());
    if (queue.forget_recordings()) ++waits_for_recordings;
    queue.synchronise();
  }
  void begin(const StepContext& step) override {
    queue_of(current()).set(step.seed, step.position, {step.samples.begin(), step.samples.end()});
  }
  void bring(const Dataset& batch) override {
    queue_of(current()).bring({batch.samples.begin(), batch.samples.end()}, batch.labels, batch.targets);
  }
  std::unique_ptr<Recording> record(DeviceStream& stream, const std::function<void()>& work) override {
    HostStream& queue = queue_of(stream);
    return std::make_unique<HostRecording>(queue, queue.record([&] {
      queue.clear_side();
      stream.side_branch().record(work);
    }));
  }

 private:
  DeviceStream& own_stream() override { return own_stream_; }
  bool is_on_device(const void* address) const override { return on_device(address); }
  MadeKernel make_library(const OperatorSpec& spec, DeviceStream& stream) override {
    if (auto kernel = make_convolution(spec, stream)) return kernel;
    return make_matrix_product(spec, stream);
  }

  static size_t rounded_up(size_t bytes) { return (std::max<size_t>(bytes, 1) + 63) / 64 * 64; }

  std::optional<size_t> left_in_machine() const {
    const char* const all = std::getenv("ARBALEST_CUDA_HOST_MEMORY");
    if (!all) return std::nullopt;
    const size_t bytes = std::strtoull(all, nullptr, 10);
    return taken_ < bytes ? bytes - taken_ : 0;
  }
  void* from_machine(size_t bytes) {
    if (left_in_machine().value_or(bytes) < bytes) reserved_.release_idle([this](void* begin, size_t size) { to_machine(begin, size); });
    const bool holds = left_in_machine().value_or(bytes) >= bytes;
    void* const memory = holds ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (memory == MAP_FAILED)
      throw Error("OUT_OF_MEMORY", "memory: " + std::to_string(bytes) + " bytes are not to be had; use fewer learners or a smaller batch");
    taken_ += bytes;
    return memory;
  }
  void to_machine(void* memory, size_t bytes) {
    munmap(memory, bytes);
    taken_ -= bytes;
  }

  std::mutex memory_;
  size_t taken_ = 0;
  ReservedMemory reserved_;
  HostStream own_stream_{*this};
};

}  // namespace

Backend* host_backend(int device) {
  static std::mutex mutex;
  // Never destroyed: when the process ends, streams of other threads may still be at work.
  static std::array<HostBackend*, kHostDevices> backends{};
  const std::lock_guard lock(mutex);
  HostBackend*& backend = backends[static_cast<size_t>(device)];
  if (!backend) backend = new HostBackend(device);
  return backend;
}

}  // namespace arbalest::cuda

extern "C" __attribute__((visibility("default"))) arbalest::Backend* arbalest_backend(const char* name) {
  if (std::string_view(name ? name : "") != "cuda-host") return nullptr;
  arbalest::cuda::read_settings();
  return arbalest::cuda::host_backend(0);
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_about() {
  thread_local std::string text;
  const arbalest::cuda::BankReport banks = arbalest::cuda::bank_report();
  text = "{\"launches\":" + arbalest::cuda::launches() + ",\"recordings\":" + std::to_string(arbalest::cuda::recordings()) +
         ",\"waits\":" + std::to_string(arbalest::cuda::waits_for_recordings) + ",\"banks\":{\"steps\":" + std::to_string(banks.steps) +
         ",\"aside\":" + std::to_string(banks.aside) + "}}";
  return text.c_str();
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_interface() { return ARBALEST_INTERFACE; }
