#include "transport/lease_words.h"

#include <utility>

namespace arbalest {
namespace {

// Turns are urgent, so that they have the channel of words; questions for them, which are rare, have that of control beside HostMessages.
constexpr int kTurnTag = 0, kAskTag = 6;

}  // namespace

LeaseWords::LeaseWords(std::shared_ptr<HostsThread> hosts, DeviceLease& lease) : hosts_(std::move(hosts)), lease_(lease) {
  lease_.await_hosts([this](const DeviceLease::Word& word) { send(word); });
  // After the loss of a host, turns that it has not been told of are of no use to the others.
  const auto leave = [this](const auto&) { lease_.leave_hosts(); };
  hosts_->on_change(this, [this] { change(); },
                    {HostsThread::key_of(Channel::control, kAskTag), [] { return HostsThread::Bytes{}; }, leave});
  change();
}

LeaseWords::~LeaseWords() { hosts_->give_up(this); }

void LeaseWords::change() {
  if (hosts_->failure()) return lease_.leave_hosts();
  if (!hosts_->is_open() || begun_.exchange(true)) return;
  received_.resize(static_cast<size_t>(hosts_->size()));
  if (hosts_->rank() > 0) return expect(0, Channel::words);
  for (const int host : hosts_->others()) expect(host, Channel::control);
  lease_.lead_hosts();
}

void LeaseWords::send(const DeviceLease::Word& word) {
  if (!begun_) return;
  const auto kept = std::make_shared<const DeviceLease::Word>(word);
  const auto bytes = std::as_bytes(std::span(kept.get(), 1));
  if (hosts_->rank() > 0) return hosts_->send(this, Channel::control, 0, kAskTag, bytes, [kept] {});
  for (const int host : hosts_->others()) hosts_->send(this, Channel::words, host, kTurnTag, bytes, [kept] {});
}

void LeaseWords::expect(int from, Channel channel) {
  DeviceLease::Word& word = received_[static_cast<size_t>(from)];
  const int tag = channel == Channel::words ? kTurnTag : kAskTag;
  hosts_->receive(this, channel, from, tag, std::as_writable_bytes(std::span(&word, 1)), [this, from, channel, &word] {
    const DeviceLease::Word told = word;
    expect(from, channel);
    lease_.told(told);
  });
}

}  // namespace arbalest
