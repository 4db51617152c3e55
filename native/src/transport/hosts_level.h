// The hosts of a run. Each bucket is cut into a chunk for every host, its owner. All send their pieces of a chunk to the owner, which adds
// them up in the order of ranks and sends the sum to all. So every host has the same bits, and sends and receives 2M(H-1)/H bytes of a
// bucket of M bytes.
//
// Beside the pieces every host tells all others how many learners its part is of: a host without learners sends empty pieces, and a mean
// divides by the learners of all hosts. An owner posts its receives for the next round before it sends the sum, and no host sends a piece
// of the next round before it has that sum: a message always finds its receive. Buckets are added up in the order in which they are
// started, so that the messages of all buckets may have one tag.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/parameter_vectors.h"
#include "transport/hosts_thread.h"
#include "transport/level.h"

namespace arbalest {

class HostsLevel final : public Level {
 public:
  // The hosts' levels of one number meet each other. The backend's devices share the machine's memory.
  HostsLevel(Backend& backend, std::shared_ptr<HostsThread> hosts, int number, Type type, std::span<const Bucket> buckets);
  ~HostsLevel() override;

  const char* name() const override { return "hosts"; }
  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  // Also adds up the pieces of later buckets that have come, so that these do not wait for this one.
  bool wait(Request& request, const std::atomic<bool>& called) override;
  void wake() override;
  void end() noexcept override;

 private:
  // Of one bucket, and used again in each round.
  struct Exchange {
    std::vector<Bucket> chunks;        // by owner
    std::vector<Memory> pieces;        // of the own chunk, by host
    std::vector<int64_t> counts;       // learners by host
    int64_t own_count = 0, total = 0;  // of the present round
    const std::byte* own = nullptr;    // the present round's part
    int missing = 0;                   // messages that the sum of the own chunk waits for
    int under_way = 0;                 // other messages of the present round
    bool summed = false;
  };

  // Receives for the next sum of the bucket's own chunk.
  void expect(Exchange& exchange);
  void send(Exchange& exchange, Channel channel, int to, int tag, std::span<const std::byte> bytes);
  void receive(int& left, Channel channel, int from, int tag, std::span<std::byte> bytes);
  void arrive(int& left);
  // Adds up the pieces of a bucket and sends the sum.
  void sum(Exchange& exchange);
  bool is_own(size_t host) const { return host == static_cast<size_t>(hosts_->rank()); }
  // A chunk of a parameter vector.
  std::span<std::byte> part_of(std::byte* vector, const Bucket& chunk) const;

  const std::shared_ptr<HostsThread> hosts_;
  VectorPasses& passes_;
  const Type type_;
  const size_t element_;
  const int tag_;
  Memory sum_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool called_ = false;             // something has changed, or wake() has been called
  std::deque<Exchange> exchanges_;  // by bucket
  std::deque<Exchange*> unsummed_;  // in the order of their starts
};

}  // namespace arbalest
