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

std::unique_ptr<Level::Exchange> LoopbackLevel::start(Passage passage) {
  auto exchange = std::make_unique<Sent>();
  exchange->arrives = Clock::now() + latency_;
  for (size_t i = 0; i < passage.parts.size(); ++i)
    if (passage.parts[i].learners > 0) copy(i, sent_[i].data(), passage.parts[i].vector, passage.range);
  exchange->passage = std::move(passage);
  return exchange;
}

bool LoopbackLevel::wait(Exchange& exchange, const std::atomic<bool>& given_up) {
  constexpr std::chrono::milliseconds kSlice{10};
  const Clock::time_point arrives = static_cast<Sent&>(exchange).arrives;
  for (Clock::time_point now = Clock::now(); now < arrives; now = Clock::now()) {
    if (given_up) return false;
    std::this_thread::sleep_until(std::min(arrives, now + kSlice));
  }
  Passage& passage = exchange.passage;
  for (size_t i = 0; i < passage.parts.size(); ++i) {
    Part& part = passage.parts[i];
    if (part.learners == 0) continue;
    copy(i, received_[i].data(), sent_[i].data(), passage.range);
    part.vector = received_[i].data();
  }
  return true;
}

void LoopbackLevel::copy(size_t device, std::byte* to, const std::byte* from, const Bucket& range) const {
  const UsedStream used = streams().use(device);
  streams().backend(device).copy(to + range.begin * element_, from + range.begin * element_, (range.end - range.begin) * element_);
}

}  // namespace arbalest
