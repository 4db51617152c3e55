// A link on which every message is announced by an envelope: the nonce of the hosts, the message's key and its length. What does not fit is
// refused and counted, and changes nothing: a hub that serves several jobs is harmed by none of them.
//
// An envelope is looked at before its message is received. So the message still goes to its place without a copy, and only if the nonce is
// that of these hosts, the key is one that a link has (its channel and tag), and the length is nothing or all of the place that waits for
// it, or no more than that for an urgent message.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "transport/link.h"

namespace arbalest {

// Messages that were refused, by reason. Read in any thread.
struct Refusals {
  std::atomic<int64_t> nonces{0}, lengths{0}, keys{0};
};

struct Envelope {
  uint64_t nonce = 0;
  uint64_t number = 0;  // of the message, among those of one sender and channel
  uint64_t length = 0;
  uint32_t channel = 0;
  uint32_t tag = 0;
};

class SealedLink final : public Link {
 public:
  // Tags of the link beneath: that of envelopes, and the last one, by which the first host tells the others the nonce that it has drawn. A
  // message has one between them, by its number.
  static constexpr int kEnvelopes = 0, kNonce = kMostTag;

  // Waits until the nonce is known. Throws HOST_LOST.
  SealedLink(std::unique_ptr<Link> link, std::shared_ptr<Refusals> refusals);

  int rank() const override { return link_->rank(); }
  int size() const override { return link_->size(); }
  Transfer send(Channel channel, int to, int tag, std::span<const std::byte> bytes) override;
  Transfer receive(Channel channel, int from, int tag, std::span<std::byte> bytes) override;
  bool cancel(Transfer receive) override;
  void poll(std::vector<Transfer>& done) override;
  void end() override;
  // The others lose this host. Processes of other jobs go on.
  void abort(int code) noexcept override;

 private:
  // A receive of an envelope. They are posted in order, and looked at in that order.
  struct Slot {
    Envelope envelope;
    Transfer transfer = 0;
    bool has_come = false;
  };
  // What a receive waits with.
  struct Place {
    Transfer transfer;
    std::span<std::byte> bytes;
  };
  // What comes from one host on one channel.
  struct Line {
    std::deque<Slot> slots;
    std::map<uint32_t, std::deque<Place>> places;    // by tag
    std::map<uint32_t, std::deque<Envelope>> early;  // whose messages nobody expects yet
    size_t waiting = 0;                              // of them
    uint64_t sent = 0;                               // messages to there
  };
  struct Sent {
    Envelope envelope;
    int left = 0;  // transfers
  };
  // What a transfer of the link beneath is for.
  struct Use {
    enum class Kind : uint8_t { envelope, send, message } kind;
    Transfer transfer;  // of this link
    Channel channel;
    int rank;
  };

  Line& line(Channel channel, int rank) { return lines_[static_cast<size_t>(channel)][static_cast<size_t>(rank)]; }
  void agree_on_nonce();
  void expect_envelope(Channel channel, int from);
  void take_envelopes(Channel channel, int from, std::vector<Transfer>& done);
  void take(Channel channel, int from, const Envelope& envelope, std::vector<Transfer>& done);
  // Whether the message belongs there.
  bool fill(Channel channel, int from, const Place& place, const Envelope& envelope, std::vector<Transfer>& done);

  const std::shared_ptr<Refusals> refusals_;
  uint64_t nonce_ = 0;
  Transfer last_ = 0;
  std::vector<std::vector<Line>> lines_;  // by channel and rank
  std::unordered_map<Transfer, Sent> sent_;
  std::unordered_map<Transfer, Use> uses_;  // by the transfer of the link beneath
  std::vector<Transfer> settled_;           // without a message, by receive()
  std::vector<Transfer> beneath_;
  std::unique_ptr<Link> link_;  // last: it reads and writes what stands above
};

}  // namespace arbalest
