#include "transport/host_messages.h"

#include <string>
#include <utility>

namespace arbalest {
namespace {

// On the control channel; 0 is that of beats.
constexpr int kLengthTag = 1, kBodyTag = 2;

std::span<const std::byte> bytes_of(const uint64_t& number) { return std::as_bytes(std::span(&number, 1)); }

}  // namespace

HostMessages::HostMessages(HostsThread& hosts) : hosts_(hosts) {
  hosts_.on_change(this, [this] {
    begin();
    wake();
  });
  begin();
}

HostMessages::~HostMessages() { hosts_.give_up(this); }

void HostMessages::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (!incoming_.empty() || !hosts_.is_open()) return;
    incoming_.resize(static_cast<size_t>(hosts_.size()));
  }
  for (int rank = 0; rank < hosts_.size(); ++rank)
    if (rank != hosts_.rank()) expect(rank);
}

void HostMessages::send(int to, std::span<const std::byte> bytes) {
  of(to);
  if (bytes.size() > Link::kMostBytes)
    throw Error("INVALID_OPTION", "message: received " + std::to_string(bytes.size()) + " bytes; give at most " +
                                      std::to_string(Link::kMostBytes) + " at a time");
  if (const std::exception_ptr failure = hosts_.failure()) std::rethrow_exception(failure);
  const auto parcel = std::make_shared<const Parcel>(bytes.size(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  // They are kept until they have been sent.
  hosts_.send(this, Channel::control, to, kLengthTag, bytes_of(parcel->first), [parcel] {});
  hosts_.send(this, Channel::control, to, kBodyTag, parcel->second, [parcel] {});
}

std::optional<std::vector<std::byte>> HostMessages::take(int from) {
  const std::exception_ptr failure = hosts_.failure();
  const std::lock_guard lock(mutex_);
  auto& arrived = of(from).arrived;
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

HostMessages::Incoming& HostMessages::of(int rank) {
  if (rank < 0 || rank >= hosts_.size() || rank == hosts_.rank())
    throw Error("INVALID_OPTION",
                "host: received " + std::to_string(rank) + "; give the rank of another of the " + std::to_string(hosts_.size()) + " hosts");
  return incoming_[static_cast<size_t>(rank)];
}

void HostMessages::expect(int rank) {
  uint64_t& bytes = incoming_[static_cast<size_t>(rank)].bytes;
  hosts_.receive(this, Channel::control, rank, kLengthTag, std::as_writable_bytes(std::span(&bytes, 1)),
                 [this, rank] { expect_body(rank); });
}

void HostMessages::expect_body(int rank) {
  Incoming& incoming = incoming_[static_cast<size_t>(rank)];
  incoming.body.resize(incoming.bytes);
  hosts_.receive(this, Channel::control, rank, kBodyTag, incoming.body, [this, rank] { arrive(rank); });
}

void HostMessages::arrive(int rank) {
  expect(rank);
  {
    const std::lock_guard lock(mutex_);
    Incoming& incoming = incoming_[static_cast<size_t>(rank)];
    incoming.arrived.push_back(std::move(incoming.body));
  }
  wake();
}

}  // namespace arbalest
