// The devices of one process, whose sums lie in memory that all of them read: adds them up in the devices' order.
#pragma once

#include "device/parameter_vectors.h"
#include "transport/level.h"

namespace arbalest {

class DeviceLevel final : public Level {
 public:
  DeviceLevel(Backend& backend, Type type, size_t bytes, int devices);

  const char* name() const override { return "devices"; }
  int rank() const override { return 0; }
  int size() const override { return devices_; }
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  // Makes the sum: one part for all devices.
  bool wait(Request& request, const std::atomic<bool>& called) override;

 private:
  struct Begun : Request {
    size_t next = 0;  // the first element that has no sum yet
  };

  VectorPasses& passes_;
  const Type type_;
  const int devices_;
  Memory sum_;
};

}  // namespace arbalest
