#include "sync/agreement.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>

namespace arbalest {
namespace {

// A message without its losses, as it is sent: the hosts have one kind of processor.
struct Header {
  AgreementMessage::Kind kind;
  int64_t round, learners, next_learners, pause;
  uint64_t settings;
  int64_t stops, not_finite_at, iterations, losses;
};

AgreedMessages::Bytes bytes_of(const AgreementMessage& message) {
  const Header header{
      message.kind,     message.round,         message.learners,      message.next_learners, message.pause,
      message.settings, message.stops ? 1 : 0, message.not_finite_at, message.iterations,    static_cast<int64_t>(message.losses.size())};
  AgreedMessages::Bytes bytes(sizeof header + message.losses.size() * sizeof(Losses::Sum));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!message.losses.empty())
    std::memcpy(bytes.data() + sizeof header, message.losses.data(), message.losses.size() * sizeof(Losses::Sum));
  return bytes;
}

AgreementMessage message_of(size_t host, const AgreedMessages::Bytes& bytes) {
  static_assert(std::is_trivially_copyable_v<Losses::Sum>);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  AgreementMessage message{header.kind,
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
  message.losses.resize(static_cast<size_t>(header.losses));
  if (header.losses > 0) std::memcpy(message.losses.data(), bytes.data() + sizeof header, message.losses.size() * sizeof(Losses::Sum));
  return message;
}

void check_equal(const std::vector<AgreementMessage>& messages) {
  const AgreementMessage& first = messages.front();
  for (const AgreementMessage& message : messages)
    if (message.kind != first.kind || message.round != first.round)
      throw Error("HOSTS_DIFFER", "host " + std::to_string(message.host) + ": it is at round " + std::to_string(message.round) +
                                      " and host " + std::to_string(first.host) + " at round " + std::to_string(first.round) +
                                      "; give all hosts the same options and the same checkpoint");
  for (const AgreementMessage& message : messages)
    if (message.settings != first.settings)
      throw Error("HOSTS_DIFFER", "host " + std::to_string(message.host) + ": its learning rates, restarts, end or rule at round " +
                                      std::to_string(first.round) + " are not those of host " + std::to_string(first.host) +
                                      "; give all hosts the same options");
}

}  // namespace

Agreement::Agreement(std::shared_ptr<HostsThread> hosts, int number, int64_t period, int64_t slack, HostsThread::Done told)
    : ahead_(2 + slack), messages_(std::move(hosts), number, longest_of(period), static_cast<size_t>(ahead_), std::move(told)) {}

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

void Agreement::tell(const AgreementMessage& message) {
  messages_.tell(bytes_of(message));
  if (message.kind == AgreementMessage::Kind::opening) phase_ = Phase::opening;
  if (message.kind == AgreementMessage::Kind::closing) phase_ = Phase::closing;
  next_message_ = message.kind == AgreementMessage::Kind::round ? message.round + 1 : message.round;
}

std::vector<AgreementMessage> Agreement::take() {
  std::vector<AgreementMessage> messages;
  const auto taken = messages_.take();
  if (!taken) return messages;
  for (const auto& [host, bytes] : *taken) messages.push_back(message_of(static_cast<size_t>(host), bytes));
  check_equal(messages);
  agree(messages);
  return messages;
}

void Agreement::count(int64_t round, size_t host, int64_t learners) {
  std::vector<int64_t>& counts = learners_[round];
  counts.resize(messages_.size());
  counts[host] = learners;
}

void Agreement::agree(const std::vector<AgreementMessage>& messages) {
  const auto [kind, round] = std::pair(messages[0].kind, messages[0].round);
  if (kind == AgreementMessage::Kind::closing) {
    phase_ = Phase::resting;
    return;
  }
  if (kind == AgreementMessage::Kind::opening) {
    phase_ = Phase::running;
    learners_.clear();
    for (const AgreementMessage& message : messages) {
      count(round, message.host, message.learners);
      for (int64_t later = round + 1; later < round + ahead_; ++later) count(later, message.host, message.next_learners);
    }
    known_until_ = round + ahead_;
    rest_ = kNever;
    for (const AgreementMessage& message : messages) rest_ = std::min(rest_, std::max(round, message.pause));
    return;
  }
  // Learners may be done with the round before while one that lies as far back as slack allows is still summed.
  learners_.erase(learners_.begin(), learners_.lower_bound(round - ahead_));
  const int64_t from = round + ahead_;
  for (const AgreementMessage& message : messages) count(from, message.host, message.learners);
  known_until_ = from + 1;
  // A rest that is near has been agreed on.
  if (rest_ < from) return;
  rest_ = kNever;
  for (const AgreementMessage& message : messages) rest_ = std::min(rest_, message.stops ? from : std::max(from, message.pause));
}

}  // namespace arbalest
