#include "transport/lease_messages.h"

#include <utility>

namespace arbalest {
namespace {

// Messages of turns go by the urgent channel; questions for them, which are rare, have that of control beside HostMessages.
constexpr int kTurnTag = 0, kAskTag = 6;

}  // namespace

LeaseMessages::LeaseMessages(std::shared_ptr<HostsThread> hosts, DeviceLease& lease) : hosts_(std::move(hosts)), lease_(lease) {
  lease_.await_hosts([this](const DeviceLease::TurnMessage& message) { send(message); });
  // After the loss of a host, turns that it has not been told of are of no use to the others.
  const auto leave = [this](const auto&) { lease_.leave_hosts(); };
  hosts_->on_change(this, [this] { change(); },
                    {HostsThread::key_of(Channel::control, kAskTag), [] { return HostsThread::Bytes{}; }, leave});
  change();
}

LeaseMessages::~LeaseMessages() { hosts_->give_up(this); }

void LeaseMessages::change() {
  if (hosts_->failure()) return lease_.leave_hosts();
  if (!hosts_->is_open() || begun_.exchange(true)) return;
  received_.resize(static_cast<size_t>(hosts_->size()));
  if (hosts_->rank() > 0) return expect(0, Channel::urgent);
  for (const int host : hosts_->others()) expect(host, Channel::control);
  lease_.lead_hosts();
}

void LeaseMessages::send(const DeviceLease::TurnMessage& message) {
  if (!begun_) return;
  const auto kept = std::make_shared<const DeviceLease::TurnMessage>(message);
  const auto bytes = std::as_bytes(std::span(kept.get(), 1));
  if (hosts_->rank() > 0) return hosts_->send(this, Channel::control, 0, kAskTag, bytes, [kept] {});
  for (const int host : hosts_->others()) hosts_->send(this, Channel::urgent, host, kTurnTag, bytes, [kept] {});
}

void LeaseMessages::expect(int from, Channel channel) {
  DeviceLease::TurnMessage& message = received_[static_cast<size_t>(from)];
  const int tag = channel == Channel::urgent ? kTurnTag : kAskTag;
  hosts_->receive(this, channel, from, tag, std::as_writable_bytes(std::span(&message, 1)), [this, from, channel, &message] {
    const DeviceLease::TurnMessage told = message;
    expect(from, channel);
    lease_.told(told);
  });
}

}  // namespace arbalest
