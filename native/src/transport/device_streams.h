// The devices of a group, and on each a stream of its own, where the backend has streams.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"

namespace arbalest {

class DeviceStreams {
 public:
  // On the first `devices` of the backend's devices.
  DeviceStreams(Backend& backend, int devices);

  size_t devices() const { return places_.size(); }
  Backend& backend(size_t device) const { return *places_[device].backend; }
  // Null where the backend has none.
  Stream* stream(size_t device) const { return places_[device].stream.get(); }
  // The calling thread's work goes to the device's stream while the result lives.
  UsedStream use(size_t device) const { return {backend(device), stream(device)}; }
  // Waits until all that is queued on them is done. Throws their faults.
  void synchronise() const;

 private:
  struct Place {
    Backend* backend;
    std::unique_ptr<Stream> stream;
  };

  std::vector<Place> places_;
};

}  // namespace arbalest
