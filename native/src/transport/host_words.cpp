#include "transport/host_words.h"

#include <algorithm>
#include <utility>

namespace arbalest {
namespace {

// Of a group, on the channel of words; 0 is that of its level's counts.
constexpr int kWords = 1;

}  // namespace

HostWords::HostWords(std::shared_ptr<HostsThread> hosts, int number, size_t longest, HostsThread::Done told)
    : hosts_(std::move(hosts)),
      tag_(HostsThread::tag_of_group(number) + kWords),
      told_(std::move(told)),
      longest_(longest),
      incoming_(static_cast<size_t>(hosts_->size())) {
  hosts_->on_change(this, told_);
  for (int rank = 0; rank < hosts_->size(); ++rank)
    if (rank != hosts_->rank()) expect(rank);
}

HostWords::~HostWords() { hosts_->give_up(this); }

void HostWords::set_longest(size_t bytes) {
  const std::lock_guard lock(mutex_);
  longest_ = bytes;
}

void HostWords::tell(Bytes word) {
  const auto kept = std::make_shared<const Bytes>(std::move(word));
  for (int rank = 0; rank < hosts_->size(); ++rank)
    if (rank != hosts_->rank()) hosts_->send(this, Channel::words, rank, tag_, *kept, [kept] {});
  const std::lock_guard lock(mutex_);
  incoming_[static_cast<size_t>(hosts_->rank())].words.push_back(*kept);
}

std::optional<std::vector<HostWords::Bytes>> HostWords::take() {
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(incoming_, [](const Incoming& each) { return each.words.empty(); })) return std::nullopt;
  std::vector<Bytes> words;
  for (Incoming& each : incoming_) {
    words.push_back(std::move(each.words.front()));
    each.words.pop_front();
  }
  return words;
}

void HostWords::expect(int rank) {
  Incoming& incoming = incoming_[static_cast<size_t>(rank)];
  {
    const std::lock_guard lock(mutex_);
    incoming.next.assign(longest_, std::byte{0});
  }
  hosts_->receive(this, Channel::words, rank, tag_, incoming.next, [this, rank] { arrive(rank); });
}

void HostWords::arrive(int rank) {
  {
    const std::lock_guard lock(mutex_);
    Incoming& incoming = incoming_[static_cast<size_t>(rank)];
    incoming.words.push_back(std::move(incoming.next));
  }
  expect(rank);
  told_();
}

}  // namespace arbalest
