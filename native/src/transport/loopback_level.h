// Hosts, of which this one is the only one: what a network would carry is sent and received here, after the network's latency, so that all
// of the way to other hosts is gone on a machine that has none.
#pragma once

#include "device/vectors.h"
#include "transport/level.h"

namespace arbalest {

class LoopbackLevel final : public Level {
 public:
  // So many parts of `bytes`, each of a device. `latency` in seconds.
  LoopbackLevel(Backend& backend, Type type, size_t bytes, int parts, double latency);

  const char* name() const override { return "hosts"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Exchange> start(Passage passage) override;
  bool wait(Exchange& exchange, const std::atomic<bool>& given_up) override;

 private:
  struct Sent : Exchange {
    Clock::time_point arrives;
  };

  // In the memory of a device.
  void copy(size_t device, std::byte* to, const std::byte* from, const Bucket& range) const;

  const size_t element_;
  const Clock::duration latency_;
  std::vector<Memory> sent_, received_;
};

}  // namespace arbalest
