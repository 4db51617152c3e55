// A link whose sender forges envelopes (sealed_link.h), for tests: before each true one it sends some that are like it but for the nonce,
// the length or the key, in turn, until it has sent so many. A flood has nothing wrong but that nobody expects it.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "transport/sealed_link.h"

namespace arbalest {

class ForgingLink final : public Link {
 public:
  // To the last host, which is a hub: `at_once` before each true one.
  ForgingLink(std::unique_ptr<Link> link, int count, int at_once, bool floods)
      : count_(count), at_once_(at_once), floods_(floods), link_(std::move(link)) {}

  int rank() const override { return link_->rank(); }
  int size() const override { return link_->size(); }
  Transfer send(Channel channel, int to, int tag, std::span<const std::byte> bytes) override {
    if (tag == SealedLink::kEnvelopes && to == size() - 1)
      for (int i = 0; i < at_once_ && sent_ < count_; ++i) link_->send(channel, to, tag, std::as_bytes(std::span(&forged(bytes), 1)));
    return link_->send(channel, to, tag, bytes);
  }
  Transfer receive(Channel channel, int from, int tag, std::span<std::byte> bytes) override {
    return link_->receive(channel, from, tag, bytes);
  }
  bool cancel(Transfer receive) override { return link_->cancel(receive); }
  void poll(std::vector<Transfer>& done) override { link_->poll(done); }
  void end() override { link_->end(); }
  void abort(int code) noexcept override { link_->abort(code); }

 private:
  const Envelope& forged(std::span<const std::byte> bytes) {
    Envelope& envelope = forged_.emplace_back();
    std::memcpy(&envelope, bytes.data(), sizeof envelope);
    ++sent_;
    if (floods_) {
      envelope.length = 0;
      envelope.tag = kMostTag;
      return envelope;
    }
    switch ((sent_ - 1) % 3) {
      case 0: envelope.nonce ^= 1; break;
      case 1: envelope.length += kTooLong; break;
      default: envelope.tag += kMostTag + 1;
    }
    return envelope;
  }

  // More than any place of these tests takes.
  static constexpr uint64_t kTooLong = 1 << 20;

  const int count_, at_once_;
  const bool floods_;
  int sent_ = 0;
  std::deque<Envelope> forged_;  // kept: they may be under way
  std::unique_ptr<Link> link_;
};

}  // namespace arbalest
