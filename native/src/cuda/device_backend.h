// The part that a GPU's backend and its stand-in share: capabilities, lowering, our own kernels, the passes, and copies between host and
// device.
#pragma once

#include <memory>

#include "cuda/device_stream.h"
#include "cuda/learner_bank.h"
#include "cuda/settings.h"
#include "cuda/table.h"
#include "device/backend.h"

namespace arbalest::cuda {

// The most blocks of a cluster on every GPU that has clusters.
inline constexpr int kMaxClusterSize = 8;

// Recordings that have been made in this process.
int64_t recordings();

class DeviceBackend : public Backend {
 public:
  explicit DeviceBackend(int number) : number_(number) {}

  // Which of the backend's devices it is.
  int number() const { return number_; }
  // Work of the calling thread that uses no stream goes to this device from now on.
  virtual void make_current() const noexcept {}
  // The most blocks of a cluster; 1 on a GPU before Hopper.
  virtual int max_cluster_size() const = 0;
  // Memory of the host that kernels can write.
  virtual std::shared_ptr<void> host_memory(size_t bytes) = 0;
  // Whether all work on the calling thread's stream is done. Throws the errors of that work.
  virtual bool is_idle() = 0;
  // Whether kernels are launched by programmatic dependent launch.
  virtual bool launches_dependently() const { return false; }
  Capabilities capabilities() const override {
    return {.own_memory = true,
            .streams = true,
            .recording = settings().graphs,
            .recording_in_parts = settings().parts && settings().bank_seats < 2,
            .reorders_together = true,
            .layouts_of_any_type = true};
  }
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
  std::unique_ptr<Recording> record_kernels(const std::function<void()>& work, const void* company) final;
  Stream* use_stream(Stream* stream) noexcept override;
  size_t piece() const override { return SIZE_MAX; }
  void copy(void* to, const void* from, size_t bytes) override;
  void read_together(std::span<const Reading> readings) override;
  std::unique_ptr<Readback> readback(std::span<const Reading> readings) override;

  // The address that kernels use for an address that `allocate` returned. On a GPU they are the same.
  virtual void* seen(const void* address) const { return const_cast<void*>(address); }

  // Records what `work` queues on `stream`, where it runs.
  virtual std::unique_ptr<Recording> record(DeviceStream& stream, const std::function<void()>& work) = 0;

 protected:
  // The stream that the calling thread uses, or the backend's own. Throws INTERNAL if the thread uses a stream of another device: work that
  // is queued there cannot use this device's memory.
  DeviceStream& current();

 private:
  virtual DeviceStream& own_stream() = 0;
  virtual bool is_on_device(const void* address) const = 0;
  // Convolutions and matrix products.
  virtual MadeKernel make_library(const OperatorSpec& spec, DeviceStream& stream) = 0;
  OperatorSpec as_seen(const OperatorSpec& spec) const;
  OptimiserPass as_seen(const OptimiserPass& pass) const;

  const int number_;
  LearnerBanks banks_{*this};
};

}  // namespace arbalest::cuda
