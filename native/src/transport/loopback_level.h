// The level of hosts on a machine without others: sends the parts to itself and receives them after the network's latency, so that all of
// the way to other hosts is run.
#pragma once

#include "core/clock.h"
#include "device/parameter_vectors.h"
#include "transport/level.h"

namespace arbalest {

class LoopbackLevel final : public Level {
 public:
  // `parts` partial sums of `bytes`, one a device. `latency` in seconds.
  LoopbackLevel(Backend& backend, Type type, size_t bytes, int parts, double latency);

  const char* name() const override { return "hosts"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  bool wait(Request& request, const std::atomic<bool>& called) override;

 private:
  struct Sent : Request {
    Clock::time_point arrives;
  };

  // In the memory of a device.
  void copy(size_t device, std::byte* to, const std::byte* from, const Bucket& range) const;

  const size_t element_;
  const Clock::duration latency_;
  std::vector<Memory> sent_, received_;
};

}  // namespace arbalest
