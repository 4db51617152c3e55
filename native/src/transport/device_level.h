// The devices of one process whose sums lie in memory that all of them read: they are added up in the devices' order.
#pragma once

#include "device/vectors.h"
#include "transport/level.h"

namespace arbalest {

class DeviceLevel final : public Level {
 public:
  DeviceLevel(Backend& backend, Type type, size_t bytes, int devices);

  const char* name() const override { return "devices"; }
  int rank() const override { return 0; }
  int size() const override { return devices_; }
  std::unique_ptr<Exchange> start(Passage passage) override;
  // The sum is made by whoever waits. Of one part a device comes one part for all.
  bool wait(Exchange& exchange, const std::atomic<bool>& given_up) override;

 private:
  Backend& backend_;
  const Type type_;
  const int devices_;
  Memory sum_;
};

}  // namespace arbalest
