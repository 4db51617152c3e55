#include "transport/host_words.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace arbalest {
namespace {

// Of a group, on the channel of words; 0 is that of its level's counts.
constexpr int kWords = 1;

void append(HostWords::Bytes& to, int64_t number) {
  to.resize(to.size() + sizeof number);
  std::memcpy(to.data() + to.size() - sizeof number, &number, sizeof number);
}

// Reads what append() and its like have written.
class Reader {
 public:
  explicit Reader(const HostWords::Bytes& bytes) : bytes_(bytes) {}
  int64_t number() {
    int64_t number = 0;
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  HostWords::Bytes bytes() {
    const auto count = static_cast<std::ptrdiff_t>(number());
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += static_cast<size_t>(count);
    return {begin, begin + count};
  }

 private:
  const HostWords::Bytes& bytes_;
  size_t at_ = 0;
};

}  // namespace

HostWords::HostWords(std::shared_ptr<HostsThread> hosts, int number, size_t longest, size_t ahead, HostsThread::Done told)
    : hosts_(std::move(hosts)),
      tag_(HostsThread::tag_of_group(number) + kWords),
      told_(std::move(told)),
      kept_(ahead + 2),
      longest_(longest),
      others_(hosts_->others()),
      incoming_(static_cast<size_t>(hosts_->size())) {
  const std::lock_guard lock(mutex_);
  hosts_->on_change(this, told_,
                    {HostsThread::key_of(Channel::words, tag_), [this] { return state(); }, [this](const auto& states) { go_on(states); }});
  for (const int rank : others_) expect(rank);
}

HostWords::~HostWords() { hosts_->give_up(this); }

void HostWords::set_longest(size_t bytes) {
  const std::lock_guard lock(mutex_);
  longest_ = bytes;
}

void HostWords::tell(Bytes word) {
  const std::lock_guard lock(mutex_);
  if (!paused_) send(word);
  incoming_[static_cast<size_t>(hosts_->rank())].words.push_back(std::move(word));
}

void HostWords::send(const Bytes& word) {
  const auto kept = std::make_shared<const Bytes>(word);
  for (const int rank : others_) hosts_->send(this, Channel::words, rank, tag_, *kept, [kept] {});
}

std::optional<HostWords::Told> HostWords::take() {
  const std::lock_guard lock(mutex_);
  Told told;
  if (!agreed_.empty()) {
    told = std::move(agreed_.front());
    agreed_.pop_front();
  } else {
    if (paused_) return std::nullopt;
    std::vector<int> ranks = others_;
    ranks.push_back(hosts_->rank());
    if (std::ranges::any_of(ranks, [this](int rank) { return incoming_[static_cast<size_t>(rank)].words.empty(); })) return std::nullopt;
    for (const int rank : ranks) {
      auto& words = incoming_[static_cast<size_t>(rank)].words;
      told.emplace(rank, std::move(words.front()));
      words.pop_front();
    }
    ++taken_;
    newest_.push_back(told);
    if (newest_.size() > kept_) newest_.pop_front();
  }
  return told;
}

void HostWords::expect(int rank) {
  Incoming& incoming = incoming_[static_cast<size_t>(rank)];
  incoming.next.assign(longest_, std::byte{0});
  hosts_->foresee(this, Channel::words, rank, tag_, incoming.next, [this, rank] { arrive(rank); });
}

void HostWords::arrive(int rank) {
  {
    const std::lock_guard lock(mutex_);
    Incoming& incoming = incoming_[static_cast<size_t>(rank)];
    incoming.words.push_back(std::move(incoming.next));
    expect(rank);
  }
  told_();
}

HostWords::Bytes HostWords::state() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  Bytes state;
  append(state, taken_);
  append(state, static_cast<int64_t>(newest_.size()));
  for (const Told& told : newest_) {
    append(state, static_cast<int64_t>(told.size()));
    for (const auto& [rank, word] : told) {
      append(state, rank);
      append(state, static_cast<int64_t>(word.size()));
      state.insert(state.end(), word.begin(), word.end());
    }
  }
  return state;
}

void HostWords::go_on(const std::map<int, Bytes>& states) {
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
        incoming_[static_cast<size_t>(hosts_->rank())].words.pop_front();
        agreed_.push_back(told);
        newest_.push_back(std::move(told));
        ++taken_;
      }
    }
    while (newest_.size() > kept_) newest_.pop_front();
    paused_ = false;
    others_ = hosts_->others();
    for (const int rank : others_) {
      incoming_[static_cast<size_t>(rank)].words.clear();
      expect(rank);
    }
    for (const Bytes& word : incoming_[static_cast<size_t>(hosts_->rank())].words) send(word);
  }
  told_();
}

}  // namespace arbalest
