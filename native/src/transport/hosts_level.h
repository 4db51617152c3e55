// The hosts of a run. Each bucket is cut into a chunk for every host, its owner. All send their pieces of a chunk to the owner, which adds
// them up in the order of ranks and sends the sum to all. So every host has the same bits, and sends and receives 2M(H-1)/H bytes of a
// bucket of M bytes.
//
// A host whose learners have all died, or that has none, brings an empty message: the counts of learners, which travel beside the pieces,
// say whose pieces are added up. An owner posts its receives for the next round before it sends the sum, and nobody sends a piece of the
// next round before it has that: messages always find their receive.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "device/parameter_vectors.h"
#include "transport/hosts_thread.h"
#include "transport/level.h"

namespace arbalest {

class HostsLevel final : public Level {
 public:
  // `devices` of this host that bring the same sum each, or one for all.
  HostsLevel(Backend& backend, std::shared_ptr<HostsThread> hosts, Type type, size_t bytes, int devices);
  ~HostsLevel() override;

  const char* name() const override { return "hosts"; }
  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  // Also adds up the pieces of later buckets that have come, so that these do not wait for this one.
  bool wait(Request& request, const std::atomic<bool>& given_up) override;
  void end() noexcept override;

 private:
  // What comes in for the next sum of a bucket's own chunk, and what comes of it. It is used again in each round.
  struct Exchange {
    Exchange(const Bucket& bucket, int hosts, int own);
    size_t length(size_t host) const { return chunks[host].end - chunks[host].begin; }

    const std::vector<Bucket> chunks;  // by owner
    std::vector<int64_t> counts;       // learners by host
    std::vector<Memory> pieces;        // of the own chunk, by host
    std::vector<std::vector<std::byte>> staged;
    // The messages that have yet to come or to go: for the next sum, and for the present one.
    int missing = 0, under_way = 0;
    // Of the present sum.
    const std::byte* own = nullptr;
    int64_t learners = 0;
    bool started = false, summed = false;
  };

  Exchange& exchange_of(const BucketReduction& reduction);
  // Receives for the next sum of the chunk.
  void expect(size_t bucket);
  void send(Exchange& exchange, Channel channel, int to, int tag, std::span<const std::byte> bytes);
  void receive(int& left, Channel channel, int from, int tag, std::span<std::byte> bytes);
  void arrive(int& left);
  // Adds up the pieces of a bucket and sends the sum.
  void sum(size_t bucket);
  // The bucket, if there is one, whose pieces have all come.
  std::deque<size_t>::iterator next_whole();
  std::span<std::byte> chunk_of(std::byte* vector, const Bucket& chunk) const;

  const std::shared_ptr<HostsThread> hosts_;
  VectorPasses& passes_;
  const Type type_;
  const size_t element_;
  Memory sum_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Exchange>> exchanges_;  // by bucket
  std::deque<size_t> unsummed_;                      // buckets that have been started
};

}  // namespace arbalest
