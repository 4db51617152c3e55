#include "sync/agreement.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>

namespace arbalest {
namespace {

// A word without its losses, as it is sent: the hosts have one kind of processor.
struct Header {
  Word::Kind kind;
  int64_t round, learners, next_learners, pause;
  uint64_t settings;
  int64_t stops, not_finite_at, iterations, losses;
};

HostWords::Bytes bytes_of(const Word& word) {
  const Header header{word.kind,     word.round,         word.learners,      word.next_learners, word.pause,
                      word.settings, word.stops ? 1 : 0, word.not_finite_at, word.iterations,    static_cast<int64_t>(word.losses.size())};
  HostWords::Bytes bytes(sizeof header + word.losses.size() * sizeof(Losses::Sum));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!word.losses.empty()) std::memcpy(bytes.data() + sizeof header, word.losses.data(), word.losses.size() * sizeof(Losses::Sum));
  return bytes;
}

Word word_of(size_t host, const HostWords::Bytes& bytes) {
  static_assert(std::is_trivially_copyable_v<Losses::Sum>);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  Word word{header.kind,
            header.round,
            host,
            header.learners,
            header.next_learners,
            header.pause,
            header.settings,
            header.stops != 0,
            header.not_finite_at,
            header.iterations,
            {}};
  word.losses.resize(static_cast<size_t>(header.losses));
  if (header.losses > 0) std::memcpy(word.losses.data(), bytes.data() + sizeof header, word.losses.size() * sizeof(Losses::Sum));
  return word;
}

void check_equal(const std::vector<Word>& words) {
  const Word& first = words.front();
  for (const Word& word : words)
    if (word.kind != first.kind || word.round != first.round)
      throw Error("HOSTS_DIFFER", "host " + std::to_string(word.host) + ": it is at round " + std::to_string(word.round) + " and host " +
                                      std::to_string(first.host) + " at round " + std::to_string(first.round) +
                                      "; give all hosts the same options and the same checkpoint");
  for (const Word& word : words)
    if (word.settings != first.settings)
      throw Error("HOSTS_DIFFER", "host " + std::to_string(word.host) + ": its learning rates, restarts, end or rule at round " +
                                      std::to_string(first.round) + " are not those of host " + std::to_string(first.host) +
                                      "; give all hosts the same options");
}

}  // namespace

Agreement::Agreement(std::shared_ptr<HostsThread> hosts, int number, int64_t period, int64_t slack, HostsThread::Done told)
    : ahead_(2 + slack), words_(std::move(hosts), number, longest_of(period), static_cast<size_t>(ahead_), std::move(told)) {}

size_t Agreement::longest_of(int64_t period) {
  return sizeof(Header) + std::min(static_cast<size_t>(period), Losses::kKept) * sizeof(Losses::Sum);
}

int64_t Agreement::learners(int64_t round) const {
  const std::vector<int64_t>& counts = learners_.at(round);
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

int64_t Agreement::place(int64_t round, int64_t i) const {
  const std::vector<int64_t>& counts = learners_.at(round);
  int64_t place = 0;
  for (size_t host = 0; host < counts.size(); ++host) place += std::min(counts[host], i + (host < rank() ? 1 : 0));
  return place;
}

void Agreement::tell(const Word& word) {
  words_.tell(bytes_of(word));
  if (word.kind == Word::Kind::opening) phase_ = Phase::opening;
  if (word.kind == Word::Kind::closing) phase_ = Phase::closing;
  next_word_ = word.kind == Word::Kind::round ? word.round + 1 : word.round;
}

std::vector<Word> Agreement::take() {
  std::vector<Word> words;
  const auto taken = words_.take();
  if (!taken) return words;
  for (const auto& [host, bytes] : *taken) words.push_back(word_of(static_cast<size_t>(host), bytes));
  check_equal(words);
  agree(words);
  return words;
}

void Agreement::count(int64_t round, size_t host, int64_t learners) {
  std::vector<int64_t>& counts = learners_[round];
  counts.resize(words_.size());
  counts[host] = learners;
}

void Agreement::agree(const std::vector<Word>& words) {
  const auto [kind, round] = std::pair(words[0].kind, words[0].round);
  if (kind == Word::Kind::closing) {
    phase_ = Phase::resting;
    return;
  }
  if (kind == Word::Kind::opening) {
    phase_ = Phase::running;
    learners_.clear();
    for (const Word& word : words) {
      count(round, word.host, word.learners);
      for (int64_t later = round + 1; later < round + ahead_; ++later) count(later, word.host, word.next_learners);
    }
    known_until_ = round + ahead_;
    rest_ = kNever;
    for (const Word& word : words) rest_ = std::min(rest_, std::max(round, word.pause));
    return;
  }
  // Learners may be done with the round before while one that lies as far back as slack allows is still summed.
  learners_.erase(learners_.begin(), learners_.lower_bound(round - ahead_));
  const int64_t from = round + ahead_;
  for (const Word& word : words) count(from, word.host, word.learners);
  known_until_ = from + 1;
  // A rest that is near has been agreed on.
  if (rest_ < from) return;
  rest_ = kNever;
  for (const Word& word : words) rest_ = std::min(rest_, word.stops ? from : std::max(from, word.pause));
}

}  // namespace arbalest
