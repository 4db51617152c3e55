#include "transport/agreed_messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace arbalest {
namespace {

// Of a group, on the urgent channel; 0 is that of its level's counts.
constexpr int kMessages = 1;

void append(AgreedMessages::Bytes& to, int64_t number) {
  to.resize(to.size() + sizeof number);
  std::memcpy(to.data() + to.size() - sizeof number, &number, sizeof number);
}

// Reads what append() and its like have written.
class Reader {
 public:
  explicit Reader(const AgreedMessages::Bytes& bytes) : bytes_(bytes) {}
  int64_t number() {
    int64_t number = 0;
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  AgreedMessages::Bytes bytes() {
    const auto count = static_cast<std::ptrdiff_t>(number());
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += static_cast<size_t>(count);
    return {begin, begin + count};
  }

 private:
  const AgreedMessages::Bytes& bytes_;
  size_t at_ = 0;
};

}  // namespace

AgreedMessages::AgreedMessages(std::shared_ptr<HostsThread> hosts, int number, size_t longest, size_t ahead, HostsThread::Done told)
    : hosts_(std::move(hosts)),
      tag_(HostsThread::tag_of_group(number) + kMessages),
      told_(std::move(told)),
      kept_(ahead + 2),
      longest_(longest),
      others_(hosts_->others()),
      incoming_(static_cast<size_t>(hosts_->size())) {
  const std::lock_guard lock(mutex_);
  hosts_->on_change(
      this, told_, {HostsThread::key_of(Channel::urgent, tag_), [this] { return state(); }, [this](const auto& states) { go_on(states); }});
  for (const int rank : others_) expect(rank);
}

AgreedMessages::~AgreedMessages() { hosts_->give_up(this); }

void AgreedMessages::set_longest(size_t bytes) {
  const std::lock_guard lock(mutex_);
  longest_ = bytes;
}

void AgreedMessages::tell(Bytes message) {
  const std::lock_guard lock(mutex_);
  if (!paused_) send(message);
  incoming_[static_cast<size_t>(hosts_->rank())].messages.push_back(std::move(message));
}

void AgreedMessages::send(const Bytes& message) {
  const auto kept = std::make_shared<const Bytes>(message);
  for (const int rank : others_) hosts_->send(this, Channel::urgent, rank, tag_, *kept, [kept] {});
}

std::optional<AgreedMessages::Told> AgreedMessages::take() {
  const std::lock_guard lock(mutex_);
  Told told;
  if (!agreed_.empty()) {
    told = std::move(agreed_.front());
    agreed_.pop_front();
  } else {
    if (paused_) return std::nullopt;
    std::vector<int> ranks = others_;
    ranks.push_back(hosts_->rank());
    if (std::ranges::any_of(ranks, [this](int rank) { return incoming_[static_cast<size_t>(rank)].messages.empty(); })) return std::nullopt;
    for (const int rank : ranks) {
      auto& messages = incoming_[static_cast<size_t>(rank)].messages;
      told.emplace(rank, std::move(messages.front()));
      messages.pop_front();
    }
    ++taken_;
    newest_.push_back(told);
    if (newest_.size() > kept_) newest_.pop_front();
  }
  return told;
}

void AgreedMessages::expect(int rank) {
  Incoming& incoming = incoming_[static_cast<size_t>(rank)];
  incoming.next.assign(longest_, std::byte{0});
  hosts_->foresee(this, Channel::urgent, rank, tag_, incoming.next, [this, rank] { arrive(rank); });
}

void AgreedMessages::arrive(int rank) {
  {
    const std::lock_guard lock(mutex_);
    Incoming& incoming = incoming_[static_cast<size_t>(rank)];
    incoming.messages.push_back(std::move(incoming.next));
    expect(rank);
  }
  told_();
}

AgreedMessages::Bytes AgreedMessages::state() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  Bytes state;
  append(state, taken_);
  append(state, static_cast<int64_t>(newest_.size()));
  for (const Told& told : newest_) {
    append(state, static_cast<int64_t>(told.size()));
    for (const auto& [rank, message] : told) {
      append(state, rank);
      append(state, static_cast<int64_t>(message.size()));
      state.insert(state.end(), message.begin(), message.end());
    }
  }
  return state;
}

void AgreedMessages::go_on(const std::map<int, Bytes>& states) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [host, bytes] : states) {
      Reader reader(bytes);
      const int64_t taken = reader.number(), kept = reader.number();
      for (int64_t number = taken - kept; number < taken; ++number) {
        Told told;
        for (int64_t left = reader.number(); left > 0; --left) {
          const auto rank = static_cast<int>(reader.number());
          told.emplace(rank, reader.bytes());
        }
        if (number != taken_) continue;
        incoming_[static_cast<size_t>(hosts_->rank())].messages.pop_front();
        agreed_.push_back(told);
        newest_.push_back(std::move(told));
        ++taken_;
      }
    }
    while (newest_.size() > kept_) newest_.pop_front();
    paused_ = false;
    others_ = hosts_->others();
    for (const int rank : others_) {
      incoming_[static_cast<size_t>(rank)].messages.clear();
      expect(rank);
    }
    for (const Bytes& message : incoming_[static_cast<size_t>(hosts_->rank())].messages) send(message);
  }
  told_();
}

}  // namespace arbalest
