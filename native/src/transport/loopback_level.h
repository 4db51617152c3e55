// The level of hosts on a machine without others: sends the parts to itself and receives them after the time that a link to one other host
// would take, so that all of the way to other hosts is run.
#pragma once

#include "device/parameter_vectors.h"
#include "transport/level.h"
#include "transport/rated_link.h"

namespace arbalest {

class LoopbackLevel final : public Level {
 public:
  // `parts` partial sums of `bytes`, one a device.
  LoopbackLevel(Backend& backend, Type type, size_t bytes, int parts, std::shared_ptr<RatedLink> link);

  const char* name() const override { return "hosts"; }
  bool joins_hosts() const override { return true; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  bool wait(Request& request, const std::atomic<bool>& called) override;

 private:
  struct Sent : Request {
    std::shared_ptr<RatedLink::Message> message;
  };

  // In the memory of a device.
  void copy(size_t device, std::byte* to, const std::byte* from, const Bucket& range) const;

  const size_t element_;
  RatedLink::Flow flow_;
  std::vector<Memory> sent_, received_;
};

}  // namespace arbalest
