#include "transport/device_streams.h"

namespace arbalest {

DeviceStreams::DeviceStreams(Backend& backend, int devices) {
  for (int device = 0; device < devices; ++device) {
    Backend& own = backend.device(device);
    places_.push_back({&own, own.stream()});
  }
}

void DeviceStreams::synchronise() const {
  for (size_t device = 0; device < devices(); ++device) {
    const UsedStream used = use(device);
    backend(device).synchronise();
  }
}

}  // namespace arbalest
