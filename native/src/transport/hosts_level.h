// The hosts of a run. Each bucket is cut into chunks, a message each, and each chunk has a host that owns it. All send the owner their
// parts of a chunk; it adds them up in the order of ranks and sends the sum to all. So every host has the same bits, and sends and receives
// 2M(H-1)/H bytes of a bucket of M bytes if each owns as much as any other.
//
// A chunk should be short enough for MPI to send it at once: a longer message is first announced, and the answer waits behind the data that
// is under way in the other direction. Hosts send their chunks to all owners in turn and owners add up each chunk as soon as all hosts have
// sent it, so that sums fill the links while later chunks are still on the way.
//
// Beside the chunks every host tells all others how many learners its part is of: a host without learners sends empty chunks, and a mean
// divides by the learners of all hosts. An owner posts its receive for the next round before it sends the sum of a chunk, and no host sends
// that chunk of the next round before it has all sums: a message always finds its receive. Chunks are added up in the order in which they
// are started, so that the messages of all buckets may have one tag.
//
// Hosts may be in several racks, where links between racks are slower than those within. Then a chunk has an owner in each rack, which adds
// up the parts of its rack alone, from the sum of the rack before it on, and sends it to the owner in the next rack. The owner in the last
// rack has the whole sum: it comes back the same way, and each owner sends it to the hosts of its rack. So a chunk crosses the link between
// two racks once in each direction, and is still added up in the order of ranks: the bits are the same. Racks of one host each are a ring.
// The hosts of a rack get sums from an owner in the order in which they sent their parts, so it holds back those that come earlier.
//
// With a rule the owner in the last rack makes more of a chunk than its sum, the next central model, and sends that. What it keeps for
// this, such as the states of an optimiser, is there alone: after the loss of a host the others cannot go on.
//
// Without one, after the loss of a host the sums that one of the others has stand: hosts that miss one get it from there. All other sums
// begin anew, without the part of the lost one; its chunks are dealt out among the hosts that are left (hosts_level_recovery.cpp).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/condition_variable.h"
#include "device/parameter_vectors.h"
#include "transport/chunk_rule.h"
#include "transport/exchange_chunk.h"
#include "transport/hosts_thread.h"
#include "transport/level.h"

namespace arbalest {

class HostsLevel final : public Level {
 public:
  // The hosts' levels of one number meet each other. The backend's devices share the machine's memory.
  HostsLevel(Backend& backend, std::shared_ptr<HostsThread> hosts, int number, Type type, std::span<const Bucket> buckets,
             std::span<const ExchangeChunk> chunks, ChunkRule* rule = nullptr, Racks racks = {}, bool by_arrival = false);
  ~HostsLevel() override;

  const char* name() const override { return "hosts"; }
  bool joins_hosts() const override { return true; }
  int rank() const override { return hosts_->rank(); }
  int size() const override { return hosts_->size(); }
  std::unique_ptr<Request> start(BucketReduction reduction) override;
  // Also adds up what has come of later buckets, so that these do not wait for this one.
  bool wait(Request& request, const std::atomic<bool>& called) override;
  void wake() override;
  void end() noexcept override;

 private:
  static constexpr int kNone = -1;
  // Added to the tag; on the channel of data and on the urgent one.
  static constexpr int kChunks = 0, kSums = 1, kCounts = 0;
  struct Chunk {
    Bucket range;
    // Of an own one:
    size_t place = 0;    // its first element among those received from another host
    int before = kNone;  // its owner in the rack before this one
    int after = kNone;   // its owner in the next rack, from which its result comes
    int missing = 0;     // messages that its sum needs
    // In the order of arrival: hosts of this rack whose parts are here and not in the sum, and whether it has others already.
    std::vector<size_t> arrived{};
    bool has_partial = false;
    bool has_result = false;
  };
  // Of one bucket, and used again in each round.
  struct Exchange {
    Bucket range;
    std::vector<ExchangeChunk> owners;
    std::vector<std::deque<Chunk>> chunks;  // by owner in this rack; none of a lost host
    std::vector<Memory> received;           // the own chunks, of each host of this rack
    Memory before, made;                    // the own chunks: sums of the racks before this one, and with this one or of what has arrived
    std::vector<int64_t> counts;            // learners by host
    int missing_counts = 0;
    // Of the present round:
    int64_t round = -1;
    const std::byte* own = nullptr;  // this host's part
    int64_t own_count = 0, total = 0;
    std::vector<size_t> contributors;  // hosts of this rack that have learners
    bool has_before = false;           // whether hosts of the racks before have learners
    int missing_sums = 0;              // messages
    int sending = 0;                   // messages
    bool is_counted = false;
    bool is_to_expect = false;       // has its sum, and is among the unsummed ones for its place in the next round alone
    size_t summed = 0, relayed = 0;  // own chunks
    int64_t finished = -1;           // the newest round whose sum is here, or comes from another host
    int64_t finished_before = -1;    // where that sum comes from another host
  };
  // What a host tells of a bucket when another one is lost.
  struct Standing {
    int64_t round, finished, total;
  };

  // Those that are there, and their chunks.
  void take_hosts();
  // The places of the chunks.
  void plan(Exchange& exchange);
  // Sends this host's part.
  void begin(Exchange& exchange);
  HostsThread::Bytes state();
  void go_on(const std::map<int, HostsThread::Bytes>& states);
  // Brings the bucket to where the others are that are furthest.
  void catch_up(Exchange& exchange, size_t bucket, const std::map<int, HostsThread::Bytes>& states);
  void begin_again();
  // Receives of the next round: all of a bucket's, and those of the buckets that come next and wait for it.
  void expect_round(Exchange& exchange);
  void expect_rounds();
  void expect_counts(Exchange& exchange);
  void expect(Exchange& exchange, Chunk& chunk);
  void send(Exchange& exchange, Channel channel, size_t to, int tag, std::span<const std::byte> bytes);
  void receive(int& left, Channel channel, size_t from, int tag, std::span<std::byte> bytes);
  void foresee(int& left, Channel channel, size_t from, int tag, std::span<std::byte> bytes);
  void arrive(int& left);
  bool is_summed(const Exchange& exchange) const;
  bool is_finished(const Exchange& exchange) const { return is_summed(exchange) && exchange.missing_sums == 0; }
  // Whether all that the next sum of the bucket needs has come.
  bool is_ready(Exchange& exchange) const;
  // Adds up the learners, or the next own chunk, and sends the sum.
  void sum_next(Exchange& exchange);
  void sum(Exchange& exchange, Chunk& chunk);
  // Whether parts of the next own chunk can be added while others have yet to come.
  bool has_arrivals(Exchange& exchange) const;
  // What is to be added to the sum of a chunk, laid out as the parameters are.
  std::vector<const void*> summands_of(Exchange& exchange, Chunk& chunk);
  void add_arrivals(Exchange& exchange, Chunk& chunk);
  // The sum of the racks up to this one: this host's own part where it is the only one. Nothing without learners.
  std::span<const std::byte> sum_of_racks(Exchange& exchange, const Chunk& chunk, std::span<const void* const> summands);
  // Whether the round makes anything: without learners there is no sum.
  bool has_result(const Exchange& exchange) const { return rule_ || exchange.total > 0; }
  void send_result(Exchange& exchange, const Chunk& chunk);
  // The result of an own chunk has come from the next rack.
  void relay(Exchange& exchange, Chunk& chunk);
  bool is_last_rack() const { return rack_ + 1 == racks_.size(); }
  std::deque<Chunk>& own_chunks(Exchange& exchange) const { return exchange.chunks[static_cast<size_t>(hosts_->rank())]; }
  // The vector of which all hosts have equal chunks when the round is done.
  std::byte* result(int64_t round) const { return rule_ ? rule_->result(round) : sum_.data(); }
  // A range of a parameter vector.
  std::span<std::byte> part_of(std::byte* vector, const Bucket& range) const;
  // The range of an own chunk in a memory of all own chunks.
  std::span<std::byte> place_of(const Memory& own, const Chunk& chunk) const;

  const std::shared_ptr<HostsThread> hosts_;
  Backend& backend_;
  VectorPasses& passes_;
  const Type type_;
  const size_t element_;
  const int tag_;
  const bool by_arrival_;  // sums are made in the order in which parts arrive
  ChunkRule* const rule_;
  const Memory sum_;  // without a rule
  std::mutex mutex_;
  std::condition_variable changed_;
  bool called_ = false;             // something has changed, or wake() has been called
  bool paused_ = false;             // between state() and go_on()
  std::exception_ptr lost_;         // with a rule: the failure, once an owner of chunks is lost together with its optimiser states
  bool is_summing_ = false;         // a thread adds up a chunk, without the lock
  std::vector<size_t> others_;      // hosts that are there, beginning with the one after this
  std::vector<size_t> neighbours_;  // those of them in this rack
  Racks racks_;                     // hosts that are there
  size_t rack_ = 0;                 // this host's
  std::deque<Exchange> exchanges_;  // by bucket
  size_t under_way_ = 0;            // exchanges
  // In the order of their starts.
  std::deque<Exchange*> unsummed_;
  std::deque<Exchange*> unrelayed_;
};

}  // namespace arbalest
