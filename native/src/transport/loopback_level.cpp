#include "transport/loopback_level.h"

#include <algorithm>
#include <thread>

namespace arbalest {

LoopbackLevel::LoopbackLevel(Backend& backend, Type type, size_t bytes, int parts, double latency)
    : Level(backend, parts),
      element_(size_of(type)),
      latency_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(latency))) {
  for (size_t device = 0; device < streams().devices(); ++device) {
    sent_.emplace_back(streams().backend(device), bytes);
    received_.emplace_back(streams().backend(device), bytes);
  }
}

std::unique_ptr<Level::Request> LoopbackLevel::start(BucketReduction reduction) {
  auto request = std::make_unique<Sent>();
  request->arrives = Clock::now() + latency_;
  for (size_t i = 0; i < reduction.parts.size(); ++i)
    if (reduction.parts[i].learners > 0) copy(i, sent_[i].data(), reduction.parts[i].vector, reduction.range);
  request->reduction = std::move(reduction);
  return request;
}

bool LoopbackLevel::wait(Request& request, const std::atomic<bool>& called) {
  constexpr std::chrono::milliseconds kSlice{10};
  const Clock::time_point arrives = static_cast<Sent&>(request).arrives;
  for (Clock::time_point now = Clock::now(); now < arrives; now = Clock::now()) {
    if (called) return false;
    std::this_thread::sleep_until(std::min(arrives, now + kSlice));
  }
  BucketReduction& reduction = request.reduction;
  for (size_t i = 0; i < reduction.parts.size(); ++i) {
    PartialSum& part = reduction.parts[i];
    if (part.learners == 0) continue;
    copy(i, received_[i].data(), sent_[i].data(), reduction.range);
    part.vector = received_[i].data();
  }
  return true;
}

void LoopbackLevel::copy(size_t device, std::byte* to, const std::byte* from, const Bucket& range) const {
  const UsedStream used = streams().use(device);
  streams().backend(device).copy(to + range.begin * element_, from + range.begin * element_, (range.end - range.begin) * element_);
}

}  // namespace arbalest
