#include "transport/device_level.h"

#include <algorithm>

namespace arbalest {

DeviceLevel::DeviceLevel(Backend& backend, Type type, size_t bytes, int devices)
    : Level(backend, 1), passes_(backend), type_(type), devices_(devices), sum_(backend, bytes) {}

std::unique_ptr<Level::Request> DeviceLevel::start(BucketReduction reduction) {
  auto request = std::make_unique<Begun>();
  request->next = reduction.range.begin;
  request->reduction = std::move(reduction);
  return request;
}

bool DeviceLevel::wait(Request& request, const std::atomic<bool>& called) {
  auto& [round, bucket, range, parts] = request.reduction;
  std::vector<const void*> summands;
  int64_t learners = 0;
  for (int device : ranks_in(round)) {
    const PartialSum& part = parts[static_cast<size_t>(device)];
    if (part.learners == 0) continue;
    summands.push_back(part.vector);
    learners += part.learners;
  }
  const size_t piece = std::min(passes_.piece(), range.end - range.begin);
  for (size_t& begin = static_cast<Begun&>(request).next; begin < range.end && learners > 0; begin += piece) {
    if (called) return false;
    passes_.average({type_, begin, std::min(begin + piece, range.end), nullptr, sum_.data(), summands, 1, 0});
  }
  parts = {learners > 0 ? PartialSum{sum_.data(), learners} : PartialSum{}};
  return true;
}

}  // namespace arbalest
