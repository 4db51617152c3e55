#include "loopback_level.h"

#include <algorithm>
#include <thread>

namespace arbalest {

LoopbackLevel::LoopbackLevel(Backend& backend, Type type, size_t bytes, size_t parts, double latency)
    : backend_(backend),
      element_(size_of(type)),
      latency_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(latency))) {
  for (size_t i = 0; i < parts; ++i) {
    sent_.emplace_back(backend, bytes);
    received_.emplace_back(backend, bytes);
  }
}

std::unique_ptr<Level::Exchange> LoopbackLevel::start(Passage passage) {
  auto exchange = std::make_unique<Sent>();
  exchange->arrives = Clock::now() + latency_;
  for (size_t i = 0; i < passage.parts.size(); ++i)
    if (passage.parts[i].learners > 0) copy(sent_[i].data(), passage.parts[i].vector, passage.range);
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
    copy(received_[i].data(), sent_[i].data(), passage.range);
    part.vector = received_[i].data();
  }
  return true;
}

void LoopbackLevel::copy(std::byte* to, const std::byte* from, const Bucket& range) const {
  backend_.copy(to + range.begin * element_, from + range.begin * element_, (range.end - range.begin) * element_);
}

}  // namespace arbalest
