// Stands for another backend, computes nothing and allocates nothing: it counts the bytes that are allocated on it. The memory that a run
// will take is found by making the run's own objects on it.
#pragma once

#include <memory>
#include <vector>

#include "device/immediate_backend.h"

namespace arbalest {

// Its memory is counted by one thread at a time. The addresses that it returns must not be read or written.
class CountingBackend final : public ImmediateBackend {
 public:
  explicit CountingBackend(Backend& counted) : CountingBackend(counted, *this) {}

  // Bytes that are allocated now on each device, or in the one memory that all devices share.
  std::vector<size_t> allocated() const;

  Capabilities capabilities() const override { return counted_.capabilities(); }
  int device_count() override { return counted_.device_count(); }
  Backend& device(int number) override;
  std::unique_ptr<Collective> collective(int devices, std::shared_ptr<Peers> peers) override;
  void use_threads(int) override {}

  LoweringAnswer lower(const LoweringRequest& request) override { return counted_.lower(request); }
  size_t bytes(const TensorSpec& spec) override { return counted_.bytes(spec); }
  std::unique_ptr<Kernel> make(const OperatorSpec& spec) override;
  void reorder(const Tensor&, const Tensor&) override {}

  void optimise(const OptimiserPass&) override {}
  void average(const AveragePass&) override {}
  void blend(const BlendPass&) override {}
  void squares(Type, std::span<const VectorPart>, std::span<double> sums) override;

  void copy(void*, const void*, size_t) override {}
  void zero(void*, size_t) override {}
  void read(void*, const void*, size_t) override {}
  void write(void*, const void*, size_t) override {}

 protected:
  void* take(size_t bytes) override;
  void give_back(void*, size_t) noexcept override {}

 private:
  CountingBackend(Backend& counted, CountingBackend& first) : counted_(counted), first_(first) {}

  Backend& counted_;
  CountingBackend& first_;                                // of the backend's devices
  std::vector<std::unique_ptr<CountingBackend>> others_;  // the devices after the first, where each has its own memory
  uintptr_t next_ = uintptr_t{1} << 20;                   // the next address
};

}  // namespace arbalest
