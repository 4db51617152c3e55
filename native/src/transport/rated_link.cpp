#include "transport/rated_link.h"

#include <algorithm>
#include <utility>

namespace arbalest {
namespace {

Clock::time_point later(Clock::time_point from, double seconds) {
  return from + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

RatedLink::RatedLink(double latency, double bytes_per_second)
    : bytes_per_second_(bytes_per_second), latency_(latency), time_(Clock::now()) {}

// From the end of one message to that of the next, until `now`: between two ends the parts of the rate stay the same.
void RatedLink::advance(Clock::time_point now) {
  while (time_ < now) {
    std::vector<Flow*> active;
    for (Flow* const flow : flows_)
      if (!flow->queue_.empty()) active.push_back(flow);
    if (active.empty()) break;
    const double rate = bytes_per_second_ / static_cast<double>(active.size());
    double least = std::numeric_limits<double>::infinity();
    for (const Flow* const flow : active) least = std::min(least, flow->queue_.front()->left);
    const bool ends = least / rate <= seconds_between(time_, now);
    const double carried = ends ? least : rate * seconds_between(time_, now);
    time_ = ends ? later(time_, least / rate) : now;
    for (Flow* const flow : active) {
      Message& message = *flow->queue_.front();
      message.left -= carried;
      if (message.left > 0) continue;
      message.sent = time_;
      message.is_sent = true;
      flow->queue_.pop_front();
    }
  }
  time_ = std::max(time_, now);
}

RatedLink::Flow::Flow(std::shared_ptr<RatedLink> link) : link_(std::move(link)) {
  const std::lock_guard lock(link_->mutex_);
  link_->flows_.push_back(this);
}

RatedLink::Flow::~Flow() {
  const std::lock_guard lock(link_->mutex_);
  link_->advance(Clock::now());
  std::erase(link_->flows_, this);
}

std::shared_ptr<RatedLink::Message> RatedLink::Flow::send(size_t bytes) {
  const std::lock_guard lock(link_->mutex_);
  const Clock::time_point now = Clock::now();
  link_->advance(now);
  auto message = std::make_shared<Message>(Message{static_cast<double>(bytes)});
  if (link_->bytes_per_second_ == std::numeric_limits<double>::infinity()) {
    message->sent = now;
    message->is_sent = true;
  } else {
    queue_.push_back(message);
  }
  return message;
}

Clock::time_point RatedLink::Flow::arrival(const Message& message) {
  const std::lock_guard lock(link_->mutex_);
  link_->advance(Clock::now());
  if (message.is_sent) return later(message.sent, link_->latency_);
  double before = 0;  // bytes of this flow up to the message's end
  for (const auto& each : queue_) {
    before += each->left;
    if (each.get() == &message) break;
  }
  const auto active = std::ranges::count_if(link_->flows_, [](const Flow* flow) { return !flow->queue_.empty(); });
  return later(link_->time_, before * static_cast<double>(active) / link_->bytes_per_second_ + link_->latency_);
}

}  // namespace arbalest
