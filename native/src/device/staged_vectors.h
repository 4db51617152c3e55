// Vectors in the second tier of a device, as a backend whose memory that is: passes, copies and reorders take their addresses beside those
// of the device, which computes. What a pass needs of them comes in pieces through windows in the device's memory: while one piece is
// computed, the next is fetched and the one before is stored. Everything is computed element by element as if it lay on the device, but for
// `squares`, whose sums are in another order.
//
// The windows lie in one memory, which a pass divides among its vectors. Each vector also has small windows of its own, for passes of more
// vectors than that memory has room for, such as a sum over many learners.
//
// The addresses are reserved, and nothing lies there: kernels must not be given them. One pass at a time uses the windows, of whichever
// thread; passes that need no vector of the second tier do not wait.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "core/transfers.h"
#include "device/backend.h"
#include "device/host_tier.h"
#include "device/parameter_vectors.h"

namespace arbalest {

class StagedVectors final : public Backend, public std::enable_shared_from_this<StagedVectors> {
 public:
  // Windows of a vector: one that is fetched, one that is computed, one that is stored.
  static constexpr size_t kTurns = 3;

  // For vectors of this layout. Without `tier` there is no second tier: its bytes are counted, and nothing moves.
  static std::shared_ptr<StagedVectors> make(Backend& device, const ParameterLayout& layout, std::optional<HostTierSpec> tier);

  // The device that computes.
  Backend& computing() const { return device_; }
  // Bytes of the device's memory that are always taken, and those that the vectors take which there are now.
  size_t window_bytes() const { return windows_.bytes() + buffer_.bytes(); }
  size_t own_window_bytes() const;
  bool has(const void* address) const;
  // The same of another device of its backend. Throws INTERNAL for a device of another one.
  StagedVectors& on(Backend& device);

  // Transfers by themselves, for operators of a Program; each number is one's own. As HostTier has them, but that `settle` may be called by
  // another thread meanwhile.
  size_t new_transfers(size_t count) { return next_transfer_.fetch_add(count); }
  void begin_fetch(size_t transfer, const void* from, void* to, size_t bytes);
  void begin_store(size_t transfer, const void* from, void* to, size_t bytes);
  void settle(size_t transfer, const void* vector);

  Capabilities capabilities() const override { return device_.capabilities(); }
  int device_count() override { return device_.device_count(); }
  Backend& device(int number) override;
  std::unique_ptr<Collective> collective(int devices, std::shared_ptr<Peers> peers) override {
    return device_.collective(devices, std::move(peers));
  }
  void use_threads(int threads) override { device_.use_threads(threads); }

  LoweringAnswer lower(const LoweringRequest& request) override { return device_.lower(request); }
  size_t bytes(const TensorSpec& spec) override { return device_.bytes(spec); }
  std::unique_ptr<Kernel> make(const OperatorSpec& spec) override { return device_.make(spec); }
  void reorder(const Tensor& from, const Tensor& to) override;

  void optimise(const OptimiserPass& pass) override;
  void average(const AveragePass& pass) override;
  void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) override;
  void blend(const BlendPass& pass) override;
  void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) override;
  // Several windows, so that transfers run beside the pass.
  size_t piece() const override;

  void reserve(size_t bytes) override { device_.reserve(bytes); }
  std::optional<size_t> free_memory() override { return device_.free_memory(); }
  void copy(void* to, const void* from, size_t bytes) override;
  void zero(void* to, size_t bytes) override;
  void read(void* to, const void* from, size_t bytes) override;
  void write(void* to, const void* from, size_t bytes) override;
  void read_together(std::span<const Reading> readings) override { device_.read_together(readings); }
  bool reaches(const DeviceMemory& other) const override { return this == &other || &device_ == &other; }
  std::shared_ptr<void> holder() override { return first_ ? first_->shared_from_this() : shared_from_this(); }
  std::unique_ptr<HostTier> host_tier(size_t bytes, const std::optional<TransferTiming>& timing) override {
    return device_.host_tier(bytes, timing);
  }

  std::unique_ptr<Stream> stream() override { return device_.stream(); }
  Stream* use_stream(Stream* stream) noexcept override { return device_.use_stream(stream); }
  std::shared_ptr<Event> mark() override { return device_.mark(); }
  void queue_after(const std::shared_ptr<Event>& event) override { device_.queue_after(event); }
  void synchronise() override { device_.synchronise(); }
  void begin(const StepContext& step) override { device_.begin(step); }
  void bring(const Dataset& batch) override { device_.bring(batch); }
  std::unique_ptr<Recording> record_kernels(const std::function<void()>& work, const void* company) override {
    return device_.record_kernels(work, company);
  }
  std::unique_ptr<Readback> readback(std::span<const Reading> readings) override { return device_.readback(readings); }

 protected:
  void* take(size_t bytes) override;
  void give_back(void* memory, size_t bytes) noexcept override;

 private:
  struct Vector {
    size_t bytes = 0;
    std::unique_ptr<HostTier> tier;
    Memory windows;  // its own: a unit in each turn; nothing without a tier
  };
  // Where an address lies in the second tier.
  struct Place {
    const Vector* vector = nullptr;
    size_t offset = 0;
    explicit operator bool() const { return vector != nullptr; }
  };
  class Operands;
  struct Window;

  StagedVectors(Backend& device, const ParameterLayout& layout, std::optional<HostTierSpec> tier, StagedVectors* first = nullptr);

  Place find(const void* address) const;
  std::unique_lock<std::mutex> device_lock();
  static std::vector<Window> windows_of(const Operands& operands, size_t begin, size_t end);
  // Calls run(window) for bytes [begin, end) of all operands, window by window.
  void run_in_windows(const Operands& operands, size_t begin, size_t end, const std::function<void(const Window&)>& run);

  Backend& device_;
  const ParameterLayout layout_;
  const std::optional<HostTierSpec> tier_;
  std::atomic<size_t> next_transfer_{16};               // the windows have those below
  StagedVectors* const first_;                          // of the devices; null for the first itself
  std::vector<std::unique_ptr<StagedVectors>> others_;  // the devices after the first, where each has its own memory
  mutable std::shared_mutex places_;
  std::map<uintptr_t, Vector> vectors_;  // by their first address

  std::mutex streaming_;  // the lock of the windows
  const Memory windows_;
  std::shared_ptr<Event> used_;  // when the windows were used last
  std::exception_ptr failure_;   // of a transfer: what the vectors hold is no longer known
  std::mutex reordering_;        // the lock of the buffer; is taken before that of the windows
  const Memory buffer_;          // for the largest parameter that does not lie in canonical order
};

}  // namespace arbalest
