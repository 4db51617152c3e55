// A network link that exists in time alone: what it carries arrives after the time that a link of its rate and latency would take. The
// flows that send at once have equal parts of the rate, as connections over one wire do.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/clock.h"

namespace arbalest {

class RatedLink {
 public:
  // Bytes under way. `left` is read and written with the link's lock held.
  struct Message {
    double left;
    Clock::time_point sent{};  // its last byte
    bool is_sent = false;
  };

  // What one group of learners sends: its messages follow one another.
  class Flow {
   public:
    explicit Flow(std::shared_ptr<RatedLink> link);
    ~Flow();
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    std::shared_ptr<Message> send(size_t bytes);
    // When the message arrives if no other flow begins to send; a time that is over if it has arrived.
    Clock::time_point arrival(const Message& message);

   private:
    friend class RatedLink;
    const std::shared_ptr<RatedLink> link_;
    std::deque<std::shared_ptr<Message>> queue_;
  };

  // Each direction carries `bytes_per_second`; `latency` in seconds.
  explicit RatedLink(double latency, double bytes_per_second = std::numeric_limits<double>::infinity());

 private:
  void advance(Clock::time_point now);

  const double bytes_per_second_, latency_;
  std::mutex mutex_;
  std::vector<Flow*> flows_;
  Clock::time_point time_;  // up to which the messages have been carried
};

}  // namespace arbalest
