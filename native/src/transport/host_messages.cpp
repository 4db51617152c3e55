#include "transport/host_messages.h"

#include <cstring>
#include <string>
#include <utility>

namespace arbalest {
namespace {

// On the control channel; 0 is that of beats.
constexpr int kLengthTag = 1, kBodyTag = 2, kReceivedTag = 3;

std::span<const std::byte> bytes_of(const uint64_t& number) { return std::as_bytes(std::span(&number, 1)); }

}  // namespace

HostMessages::HostMessages(HostsThread& hosts) : hosts_(hosts) {
  hosts_.on_change(
      this,
      [this] {
        begin();
        wake();
      },
      {HostsThread::key_of(Channel::control, kLengthTag), [this] { return state(); }, [this](const auto& states) { go_on(states); }});
  begin();
}

HostMessages::~HostMessages() { hosts_.give_up(this); }

void HostMessages::begin() {
  const std::lock_guard lock(mutex_);
  if (!peers_.empty() || !hosts_.is_open() || paused_) return;
  peers_.resize(static_cast<size_t>(hosts_.size()));
  for (const int rank : hosts_.others()) {
    expect(rank);
    expect_acknowledgement(rank);
  }
}

void HostMessages::send(int to, std::span<const std::byte> bytes) {
  Peer& peer = of(to);
  if (bytes.size() > Link::kMostBytes)
    throw Error("INVALID_OPTION", "message: received " + std::to_string(bytes.size()) + " bytes; give at most " +
                                      std::to_string(Link::kMostBytes) + " at a time");
  if (const std::exception_ptr failure = hosts_.failure()) std::rethrow_exception(failure);
  if (hosts_.is_lost(to)) return;
  auto parcel = std::make_shared<const Parcel>(bytes.size(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  const std::lock_guard lock(mutex_);
  if (!paused_) post(to, parcel);
  peer.sent.push_back(std::move(parcel));
}

void HostMessages::post(int rank, const std::shared_ptr<const Parcel>& parcel) {
  hosts_.send(this, Channel::control, rank, kLengthTag, bytes_of(parcel->first), [parcel] {});
  hosts_.send(this, Channel::control, rank, kBodyTag, parcel->second, [parcel] {});
}

std::optional<std::vector<std::byte>> HostMessages::take(int from) {
  std::exception_ptr failure = hosts_.failure();
  if (!failure) failure = hosts_.loss_of(from);
  auto& arrived = of(from).arrived;
  const std::lock_guard lock(mutex_);
  if (arrived.empty() && failure) std::rethrow_exception(failure);
  if (arrived.empty()) return std::nullopt;
  std::vector<std::byte> message = std::move(arrived.front());
  arrived.pop_front();
  return message;
}

void HostMessages::watch(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  if (wake_) wake_();
}

void HostMessages::wake() {
  const std::lock_guard lock(mutex_);
  if (wake_) wake_();
}

HostMessages::Peer& HostMessages::of(int rank) {
  if (rank < 0 || rank >= hosts_.size() || rank == hosts_.rank())
    throw Error("INVALID_OPTION",
                "host: received " + std::to_string(rank) + "; give the rank of another of the " + std::to_string(hosts_.size()) + " hosts");
  // The hosts' thread may not have told yet that they have met.
  begin();
  return peers_[static_cast<size_t>(rank)];
}

void HostMessages::expect(int rank) {
  uint64_t& bytes = peers_[static_cast<size_t>(rank)].bytes;
  hosts_.receive(this, Channel::control, rank, kLengthTag, std::as_writable_bytes(std::span(&bytes, 1)),
                 [this, rank] { expect_body(rank); });
}

void HostMessages::expect_body(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.body.resize(peer.bytes);
  hosts_.receive(this, Channel::control, rank, kBodyTag, peer.body, [this, rank] { arrive(rank); });
}

void HostMessages::arrive(int rank) {
  expect(rank);
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_[static_cast<size_t>(rank)];
    peer.arrived.push_back(std::move(peer.body));
    const auto received = std::make_shared<const uint64_t>(++peer.received);
    // It belongs to no client: where the other host takes no messages any more, none waits for it.
    hosts_.send(nullptr, Channel::control, rank, kReceivedTag, bytes_of(*received), [received] {});
  }
  wake();
}

void HostMessages::expect_acknowledgement(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  hosts_.receive(this, Channel::control, rank, kReceivedTag, std::as_writable_bytes(std::span(&peer.acknowledgement, 1)), [this, rank] {
    const std::lock_guard lock(mutex_);
    Peer& from = peers_[static_cast<size_t>(rank)];
    forget(from, from.acknowledgement);
    expect_acknowledgement(rank);
  });
}

void HostMessages::forget(Peer& peer, uint64_t acknowledged) {
  for (; peer.acknowledged < acknowledged; ++peer.acknowledged) peer.sent.pop_front();
}

// How many messages of each host have come.
HostsThread::Bytes HostMessages::state() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  HostsThread::Bytes state(peers_.size() * sizeof(uint64_t));
  for (size_t rank = 0; rank < peers_.size(); ++rank)
    std::memcpy(state.data() + rank * sizeof(uint64_t), &peers_[rank].received, sizeof(uint64_t));
  return state;
}

void HostMessages::go_on(const std::map<int, HostsThread::Bytes>& states) {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  if (peers_.empty()) return;
  for (size_t rank = 0; rank < peers_.size(); ++rank)
    if (hosts_.is_lost(static_cast<int>(rank))) peers_[rank].sent.clear();
  for (const int rank : hosts_.others()) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    expect(rank);
    expect_acknowledgement(rank);
    if (const auto found = states.find(rank); found != states.end() && !found->second.empty()) {
      uint64_t received = 0;
      std::memcpy(&received, found->second.data() + static_cast<size_t>(hosts_.rank()) * sizeof received, sizeof received);
      forget(peer, received);
    }
    for (const auto& parcel : peer.sent) post(rank, parcel);
  }
}

}  // namespace arbalest
