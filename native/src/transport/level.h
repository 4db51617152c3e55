// A level of the all-reduce by which the learners of several devices and hosts have one central model: the devices of a host, the hosts of
// a cluster. Each rank of a level brings a sum over some learners; the level sums over its ranks, and the next level over that. The result
// is one sum over all learners, added up in a fixed order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/buckets.h"
#include "transport/device_streams.h"

namespace arbalest {

// The sum over some learners of a range of the parameter vector, at its place in a vector laid out like that. Without learners there is no
// vector, and the part adds nothing.
struct PartialSum {
  const std::byte* vector = nullptr;
  int64_t learners = 0;
  std::shared_ptr<Event> ready = nullptr;  // on a backend with streams: the point from which the sum is there
};

// A bucket of a round on its way through the levels: the parts of this process, one for each of its devices or one for all of them.
struct BucketReduction {
  int64_t round = 0;
  size_t bucket = 0;
  Bucket range;
  std::vector<PartialSum> parts;
};

// Asynchronous: `start` returns at once, and a thread of the level's own waits; learners never do. Every process starts the rounds in their
// order, and the buckets of a round in theirs.
//
// On a backend with streams the level has one stream on each device. `start` and `wait` queue their work there, where the device's part is
// ready, and the device's sum is ready when the stream has come to the end of that work.
class Level {
 public:
  // A reduction under way. Implementations add what they need to follow it: a request, an event.
  struct Request {
    virtual ~Request() = default;
    BucketReduction reduction;
  };

  Level(Backend& backend, int devices) : streams_(backend, devices) {}
  virtual ~Level() = default;
  const DeviceStreams& streams() const { return streams_; }
  virtual const char* name() const = 0;
  // The first of this process's ranks, and how many the level has in all processes.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // From this round on these ranks take part. Called in the order of rounds, before the first reduction of the round is started.
  void set_members(int64_t from_round, std::vector<int> ranks);

  // The parts stay as they are until the round is whole.
  virtual std::unique_ptr<Request> start(BucketReduction reduction) = 0;
  // Replaces the reduction's parts by their sums, which stay until the same bucket is started anew. False where it was given up instead;
  // implementations look at `given_up` every 10 ms at least.
  virtual bool wait(Request& request, const std::atomic<bool>& given_up) = 0;
  // Whether streams still work on reductions that `wait` has returned from. Throws their faults. Called every 10 ms while the level is
  // idle.
  virtual bool is_at_work() { return false; }
  // Nothing is started any more. When it returns, all work is done or given up.
  virtual void end() noexcept {}

 protected:
  // The ranks that take part in a round; rounds are asked for in their order.
  std::vector<int> members(int64_t round);

 private:
  const DeviceStreams streams_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<int>> members_;  // by the first round in which it holds
};

}  // namespace arbalest
