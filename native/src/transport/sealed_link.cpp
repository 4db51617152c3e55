#include "transport/sealed_link.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

namespace arbalest {
namespace {

// Envelopes that are expected from each host and channel at a time: one more is posted as soon as one has been looked at.
constexpr int kSlots = 16;
// Messages from one host that nobody expects yet. A group of one host begins a little earlier than those of the others, but not by so much.
constexpr size_t kMostEarly = 4096;
constexpr std::chrono::microseconds kPause{100};

// Numbers come again, long after the message that had one before.
int tag_of(const Envelope& envelope) { return 1 + static_cast<int>(envelope.number % (Link::kMostTag - 1)); }

uint64_t drawn() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32) | random();
}

}  // namespace

SealedLink::SealedLink(std::unique_ptr<Link> link, std::shared_ptr<Refusals> refusals)
    : refusals_(std::move(refusals)), link_(std::move(link)) {
  agree_on_nonce();
  lines_.resize(kChannels);
  for (size_t channel = 0; channel < kChannels; ++channel) {
    lines_[channel].resize(static_cast<size_t>(size()));
    for (int from = 0; from < size(); ++from)
      for (int i = 0; i < kSlots && from != rank(); ++i) expect_envelope(static_cast<Channel>(channel), from);
  }
}

// The hosts of the link beneath are those that the launcher has told of each other: what they alone are told is a secret of theirs.
void SealedLink::agree_on_nonce() {
  std::vector<Transfer> open;
  if (rank() == 0) {
    nonce_ = drawn();
    for (int to = 1; to < size(); ++to) open.push_back(link_->send(Channel::control, to, kNonce, std::as_bytes(std::span(&nonce_, 1))));
  } else {
    open.push_back(link_->receive(Channel::control, 0, kNonce, std::as_writable_bytes(std::span(&nonce_, 1))));
  }
  while (!open.empty()) {
    std::vector<Transfer> done;
    link_->poll(done);
    std::erase_if(open, [&](Transfer each) { return std::ranges::count(done, each) > 0; });
    if (!open.empty()) std::this_thread::sleep_for(kPause);
  }
}

void SealedLink::expect_envelope(Channel channel, int from) {
  Slot& slot = line(channel, from).slots.emplace_back();
  slot.transfer = link_->receive(channel, from, kEnvelopes, std::as_writable_bytes(std::span(&slot.envelope, 1)));
  uses_.emplace(slot.transfer, Use{Use::Kind::envelope, 0, channel, from});
}

Link::Transfer SealedLink::send(Channel channel, int to, int tag, std::span<const std::byte> bytes) {
  const Transfer transfer = ++last_;
  const uint64_t number = line(channel, to).sent++;
  Sent& sent = sent_[transfer];
  sent.envelope = {nonce_, number, bytes.size(), static_cast<uint32_t>(channel), static_cast<uint32_t>(tag)};
  const auto post = [&](int own_tag, std::span<const std::byte> what) {
    ++sent.left;
    uses_.emplace(link_->send(channel, to, own_tag, what), Use{Use::Kind::send, transfer, channel, to});
  };
  post(kEnvelopes, std::as_bytes(std::span(&sent.envelope, 1)));
  if (!bytes.empty()) post(tag_of(sent.envelope), bytes);
  return transfer;
}

Link::Transfer SealedLink::receive(Channel channel, int from, int tag, std::span<std::byte> bytes) {
  const Place place{++last_, bytes};
  Line& own = line(channel, from);
  const auto found = own.early.find(static_cast<uint32_t>(tag));
  while (found != own.early.end() && !found->second.empty()) {
    const Envelope envelope = found->second.front();
    found->second.pop_front();
    --own.waiting;
    if (fill(channel, from, place, envelope, settled_)) return place.transfer;
  }
  own.places[static_cast<uint32_t>(tag)].push_back(place);
  return place.transfer;
}

// One whose envelope has come is on its way.
bool SealedLink::cancel(Transfer receive) {
  for (auto& channel : lines_)
    for (Line& each : channel)
      for (auto& [tag, places] : each.places)
        if (std::erase_if(places, [&](const Place& place) { return place.transfer == receive; }) > 0) return true;
  return false;
}

void SealedLink::poll(std::vector<Transfer>& done) {
  beneath_.clear();
  link_->poll(beneath_);
  for (const Transfer each : beneath_) {
    const auto found = uses_.find(each);
    if (found == uses_.end()) continue;
    const Use use = found->second;
    uses_.erase(found);
    if (use.kind == Use::Kind::envelope) {
      std::ranges::find(line(use.channel, use.rank).slots, each, &Slot::transfer)->has_come = true;
      take_envelopes(use.channel, use.rank, done);
    } else if (use.kind == Use::Kind::message) {
      done.push_back(use.transfer);
    } else if (const auto sent = sent_.find(use.transfer); --sent->second.left == 0) {
      sent_.erase(sent);
      done.push_back(use.transfer);
    }
  }
  done.insert(done.end(), settled_.begin(), settled_.end());
  settled_.clear();
}

void SealedLink::take_envelopes(Channel channel, int from, std::vector<Transfer>& done) {
  std::deque<Slot>& slots = line(channel, from).slots;
  while (slots.front().has_come) {
    const Envelope envelope = slots.front().envelope;
    slots.pop_front();
    expect_envelope(channel, from);
    take(channel, from, envelope, done);
  }
}

void SealedLink::take(Channel channel, int from, const Envelope& envelope, std::vector<Transfer>& done) {
  Line& own = line(channel, from);
  if (envelope.nonce != nonce_)
    ++refusals_->nonces;
  else if (envelope.channel != static_cast<uint32_t>(channel) || envelope.tag > static_cast<uint32_t>(kMostTag))
    ++refusals_->keys;
  else if (envelope.length > kMostBytes)
    ++refusals_->lengths;
  else if (std::deque<Place>& places = own.places[envelope.tag]; !places.empty()) {
    if (const Place place = places.front(); fill(channel, from, place, envelope, done)) places.pop_front();
  } else if (own.waiting == kMostEarly) {
    throw Error("HOST_LOST", "host " + std::to_string(from) + ": it has sent " + std::to_string(kMostEarly) +
                                 " messages that no host expects; the other jobs of the hub go on");
  } else {
    own.early[envelope.tag].push_back(envelope);
    ++own.waiting;
  }
}

bool SealedLink::fill(Channel channel, int from, const Place& place, const Envelope& envelope, std::vector<Transfer>& done) {
  // An urgent message may be shorter than its place.
  const bool fits =
      channel == Channel::urgent ? envelope.length <= place.bytes.size() : envelope.length == 0 || envelope.length == place.bytes.size();
  if (!fits) {
    ++refusals_->lengths;
    return false;
  }
  if (envelope.length == 0)
    done.push_back(place.transfer);
  else
    uses_.emplace(link_->receive(channel, from, tag_of(envelope), place.bytes), Use{Use::Kind::message, place.transfer, channel, from});
  return true;
}

void SealedLink::end() {
  for (const auto& [transfer, use] : uses_)
    if (use.kind != Use::Kind::send) link_->cancel(transfer);
  link_->end();
}

void SealedLink::abort(int) noexcept { link_.reset(); }

}  // namespace arbalest
