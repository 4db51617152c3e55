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

// The sum over some learners of a range of the parameters, in a vector laid out as the parameters are. Without learners there is no vector,
// and the part adds nothing.
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

// Asynchronous: `start` returns at once, and the level's own thread waits; learners never do. Every process starts rounds in order, and the
// buckets of a round in order.
//
// On a backend with streams the level has one stream for each sum that it gives. `start` and `wait` queue their work there, after the
// device's part is ready; the sum is ready when the stream has reached the end of that work.
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
  // Whether its ranks are hosts, and not the devices of one.
  virtual bool joins_hosts() const { return false; }
  // The first of this process's ranks, and the number of ranks in all processes.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // From this round on, exactly these ranks take part. Called in the order of rounds, before the first reduction of the round is started.
  void set_ranks(int64_t from_round, std::vector<int> ranks);

  // The parts do not change until the round is whole.
  virtual std::unique_ptr<Request> start(BucketReduction reduction) = 0;
  // Replaces the reduction's parts by their sums, which stay valid until the same bucket is started again. False if the thread is called
  // away before: then it waits again once it has started what has come meanwhile, or gives the reduction up. Implementations look at
  // `called` at least every 10 ms.
  virtual bool wait(Request& request, const std::atomic<bool>& called) = 0;
  // Called by any thread after `called` has been set: a wait that does not look at it all the time ends now.
  virtual void wake() {}
  // Whether streams still work on reductions that `wait` has returned. Throws their errors. Called every 10 ms while the level is idle.
  virtual bool is_at_work() { return false; }
  // No reduction is started after this call. When it returns, all work is done or given up: nothing reads or writes the level's memory.
  virtual void end() noexcept;

 protected:
  // The ranks that take part in a round. To be called in the order of rounds.
  std::vector<int> ranks_in(int64_t round);

 private:
  const DeviceStreams streams_;
  std::mutex mutex_;
  std::map<int64_t, std::vector<int>> ranks_;  // by the first round
};

}  // namespace arbalest
