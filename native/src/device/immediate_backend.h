// The base of backends whose work is done when a call returns. They compute in the machine's memory, on the threads that call, and have no
// streams. A backend derives from it and writes the operators, the passes, take, give_back and use_threads.
#pragma once

#include <cstring>

#include "device/backend.h"

namespace arbalest {

class ImmediateBackend : public Backend {
 public:
  Capabilities capabilities() const override { return {.uses_cores = true, .asynchronous_rules = true}; }
  int device_count() override { return kMostDevices; }
  Backend& device(int) override { return *this; }
  std::unique_ptr<Collective> collective(int, std::shared_ptr<Peers>) override { return nullptr; }

  void optimise_and_average(std::span<const OptimiserPass> steps, const AveragePass& sum) override {
    for (const OptimiserPass& step : steps) optimise(step);
    average(sum);
  }
  size_t piece() const override { return 16384; }

  void reserve(size_t) override {}
  std::optional<size_t> free_memory() override { return std::nullopt; }
  void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void zero(void* to, size_t bytes) override { std::memset(to, 0, bytes); }
  void read(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void write(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void read_together(std::span<const Reading> readings) override {
    for (const Reading& reading : readings) read(reading.to, reading.from, reading.bytes);
  }
  std::unique_ptr<HostTier> host_tier(size_t, const std::optional<TransferTiming>&) final {
    throw Error("INTERNAL", "host_tier: called on a backend that computes in the memory of the host; report this");
  }

  std::unique_ptr<Stream> stream() final { return nullptr; }
  Stream* use_stream(Stream*) noexcept final { return nullptr; }
  std::shared_ptr<Event> mark() final { return nullptr; }
  void queue_after(const std::shared_ptr<Event>&) final {}
  void synchronise() final {}
  void begin(const StepContext&) final {}
  void bring(const Dataset&) final { throw Error("INTERNAL", "bring: called on a backend without streams; report this"); }
  std::unique_ptr<Recording> record_kernels(const std::function<void()>&, const void*) final {
    throw Error("INTERNAL", "record_kernels: called on a backend that records nothing; report this");
  }
  std::unique_ptr<Readback> readback(std::span<const Reading>) final {
    throw Error("INTERNAL", "readback: called on a backend whose work is done when a call returns; report this");
  }
};

}  // namespace arbalest
