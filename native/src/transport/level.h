// A level of the all-reduce by which the learners of several devices, and of several hosts, have one central model: the devices of a host,
// the hosts of a cluster. Each of a level's ranks brings a sum over some learners; what comes of it is the sum over all of them. One level
// passes what it has summed on to the next, so the mathematics is that of one sum over all learners, added up in a fixed order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sync/group.h"
#include "transport/device_streams.h"

namespace arbalest {

// A sum over so many learners of a range of the parameter vector, at its place in a vector laid out like that. Where there are no learners
// there is no vector, and it adds nothing.
struct Part {
  const std::byte* vector = nullptr;
  int64_t learners = 0;
  std::shared_ptr<Event> ready = nullptr;  // on a backend with streams: from when on it is there
};

// A bucket of a round on its way through the levels: the parts of this process, each for one of its devices or for all of them.
struct Passage {
  int64_t round = 0;
  size_t bucket = 0;
  Bucket range;
  std::vector<Part> parts;
};

// Asynchronous: whoever starts a passage goes on, and waits for it later; learners never do, a thread of the level's own does. Every
// process starts the buckets of a round in their order, and the rounds in theirs.
//
// On a backend with streams the level has one on each device, on which the device's part is there already: what `start` and `wait` queue
// there is what the device's sum is ready after.
class Level {
 public:
  // A passage under way; what else an implementation has to remember of it is its own: a request, an event.
  struct Exchange {
    virtual ~Exchange() = default;
    Passage passage;
  };

  Level(Backend& backend, int devices) : streams_(backend, devices) {}
  virtual ~Level() = default;
  const DeviceStreams& streams() const { return streams_; }
  virtual const char* name() const = 0;
  // The first of this process's ranks, and how many the level has in all processes.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // From this round on these ranks take part; told in the order of rounds, before the first passage of the round is started.
  void set_members(int64_t from_round, std::vector<int> ranks);

  // The parts stay as they are until the round is whole.
  virtual std::unique_ptr<Exchange> start(Passage passage) = 0;
  // The passage then has the sums for its parts, which stay until the same bucket is started anew. False where it was given up instead:
  // that is looked at every 10 ms at least.
  virtual bool wait(Exchange& exchange, const std::atomic<bool>& given_up) = 0;
  // Whether something of what has been waited for is at work yet, on streams. Throws what has gone wrong with it. Asked every 10 ms while
  // nothing else is to be done.
  virtual bool is_at_work() { return false; }
  // Nothing is started any more: what is at work is done when it returns, or given up.
  virtual void end() noexcept {}

 protected:
  // Of the ranks that take part in a round; rounds are asked for in their order.
  std::vector<int> members(int64_t round);

 private:
  const DeviceStreams streams_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<int>> members_;  // by the first round in which it holds
};

}  // namespace arbalest
