// What a GPU's backend and its stand-in have in common: lowering, our own kernels, the passes, and the ways between host and device.
#pragma once

#include <memory>

#include "cuda/device_stream.h"
#include "cuda/table.h"
#include "device/backend.h"

namespace arbalest::cuda {

class DeviceBackend : public Backend {
 public:
  explicit DeviceBackend(int number) : number_(number) {}

  // Which of the devices it is.
  int number() const { return number_; }
  // The calling thread's work that names no stream is this device's.
  virtual void make_current() const noexcept {}
  LoweringAnswer lower(const LoweringRequest& request) override;
  size_t bytes(const TensorSpec& spec) override;
  std::unique_ptr<Kernel> make(const OperatorSpec& spec) override;
  void reorder(const Tensor& from, const Tensor& to) override;
  void optimise(const OptimiserPass& pass) override;
  void average(const AveragePass& pass) override;
  void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) override;
  void blend(const BlendPass& pass) override;
  void squares(Type type, std::span<const VectorPart> parts, std::span<double> sums) override;
  void use_threads(int) override {}
  Stream* use_stream(Stream* stream) noexcept override;
  size_t piece() const override { return SIZE_MAX; }
  void copy(void* to, const void* from, size_t bytes) override;

  // An address as kernels see it, from one that `allocate` gave out. On a GPU they are the same.
  virtual void* seen(const void* address) const { return const_cast<void*>(address); }

 protected:
  // The stream that the calling thread uses, or the backend's own. Throws INTERNAL where it uses another device's: what is queued there
  // would read and write this device's memory.
  DeviceStream& current();

 private:
  virtual DeviceStream& own_stream() = 0;
  virtual bool is_on_device(const void* address) const = 0;
  // Convolutions and matrix products.
  virtual MadeKernel make_library(const OperatorSpec& spec, DeviceStream& stream) = 0;
  OperatorSpec as_seen(const OperatorSpec& spec) const;
  OptimiserPass as_seen(const OptimiserPass& pass) const;

  const int number_;
};

}  // namespace arbalest::cuda
