// The devices of a group, and on each a stream of its own, where the backend has streams.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"

namespace arbalest {

class DeviceStreams {
 public:
  // On the first so many of the backend's devices.
  DeviceStreams(Backend& backend, int devices);

  size_t devices() const { return places_.size(); }
  Backend& backend(size_t device) const { return *places_[device].backend; }
  // Null where the backend has none.
  Stream* stream(size_t device) const { return places_[device].stream.get(); }
  // While that lives, the calling thread's work goes to the device's stream.
  UsedStream use(size_t device) const { return {backend(device), stream(device)}; }
  // The caller waits until all that is queued on them is done. Throws what went wrong there.
  void synchronise() const;

 private:
  struct Place {
    Backend* backend;
    std::unique_ptr<Stream> stream;
  };

  std::vector<Place> places_;
};

}  // namespace arbalest
