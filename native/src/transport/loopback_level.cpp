#include "transport/loopback_level.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace arbalest {

LoopbackLevel::LoopbackLevel(Backend& backend, Type type, size_t bytes, int parts, std::shared_ptr<RatedLink> link)
    : Level(backend, parts), element_(size_of(type)), flow_(std::move(link)) {
  for (size_t device = 0; device < streams().devices(); ++device) {
    sent_.emplace_back(streams().backend(device), bytes);
    received_.emplace_back(streams().backend(device), bytes);
  }
}

std::unique_ptr<Level::Request> LoopbackLevel::start(BucketReduction reduction) {
  auto request = std::make_unique<Sent>();
  // Two hosts send each other half of their own sum and half of the result: as many bytes as a part has.
  const size_t bytes = (reduction.range.end - reduction.range.begin) * element_;
  request->message = flow_.send(bytes);
  for (size_t i = 0; i < reduction.parts.size(); ++i)
    if (reduction.parts[i].learners > 0) copy(i, sent_[i].data(), reduction.parts[i].vector, reduction.range);
  request->reduction = std::move(reduction);
  return request;
}

bool LoopbackLevel::wait(Request& request, const std::atomic<bool>& called) {
  constexpr std::chrono::milliseconds kSlice{10};
  const RatedLink::Message& message = *static_cast<Sent&>(request).message;
  // Asked again after each slice: other flows may have begun to send, or have stopped.
  for (;;) {
    const Clock::time_point arrives = flow_.arrival(message), now = Clock::now();
    if (arrives <= now) break;
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
