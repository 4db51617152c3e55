// arbalest-mpi-probe check                   every rank exchanges messages with every other, on all channels; gives receives up
// arbalest-mpi-probe lose                    the last rank is killed: the others shrink the link and exchange messages again
// arbalest-mpi-probe exchange BYTES ROUNDS   pieces to their owners and back, as a sum that is sharded: the time of each round
// arbalest-mpi-probe allreduce BYTES ROUNDS  MPI_Allreduce of as many bytes of float32
//
// To be started by the launcher of the MPI library, or alone. Rank 0 prints one line of JSON; what is wrong goes to stderr, with status 1.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "transport/mpi/mpi_error.h"
#include "transport/mpi/mpi_link.h"

namespace arbalest {
namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr Channel kAll[] = {Channel::urgent, Channel::data, Channel::control};

void expect(bool is_true, const std::string& promise) {
  if (!is_true) throw Error("INTERNAL", "not kept: " + promise);
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Waits for transfers, of which poll() may return others before.
class Waiting {
 public:
  explicit Waiting(Link& link) : link_(link) {}

  void until(const std::vector<Link::Transfer>& wanted) {
    const auto begin = Clock::now();
    auto is_left = [&] { return std::any_of(wanted.begin(), wanted.end(), [&](Link::Transfer each) { return !done_.contains(each); }); };
    while (is_left()) {
      turn();
      expect(seconds_since(begin) < 60, "a message arrives within a minute");
    }
    for (const Link::Transfer each : wanted) done_.erase(each);
  }
  void turn() {
    polled_.clear();
    link_.poll(polled_);
    for (const Link::Transfer each : polled_) expect(done_.insert(each).second, "poll() returns a transfer once");
  }
  bool has(Link::Transfer transfer) const { return done_.contains(transfer); }

 private:
  Link& link_;
  std::vector<Link::Transfer> polled_;
  std::unordered_set<Link::Transfer> done_;
};

Bytes message(int from, int to, int tag, size_t bytes) {
  Bytes all(bytes);
  for (size_t i = 0; i < bytes; i++) all[i] = static_cast<std::byte>(from * 31 + to * 17 + tag * 7 + static_cast<int>(i));
  return all;
}

// Messages of one tag keep their order, those of another channel with the same tag do not match them. Of every second size the receive is
// under way only after the message has been sent.
int check_messages(Link& link) {
  const std::vector<size_t> sizes{0, 1, 64, 4096, 65537, size_t{1} << 22};
  Waiting waiting(link);
  int count = 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    std::vector<Link::Transfer> transfers;
    std::vector<std::pair<Bytes, Bytes>> received;  // with what is expected
    std::vector<Bytes> sent;
    received.reserve(6 * static_cast<size_t>(link.size()));
    sent.reserve(received.capacity());
    const auto receive_all = [&] {
      for (int peer = 0; peer < link.size(); peer++) {
        if (peer == link.rank()) continue;
        for (const Channel channel : kAll)
          for (int copy = 0; copy < 2; copy++) {
            received.emplace_back(Bytes(sizes[i]), message(peer, link.rank(), static_cast<int>(channel) * 2 + copy, sizes[i]));
            transfers.push_back(link.receive(channel, peer, 5, received.back().first));
          }
      }
    };
    const auto send_all = [&] {
      for (int peer = 0; peer < link.size(); peer++) {
        if (peer == link.rank()) continue;
        for (const Channel channel : kAll)
          for (int copy = 0; copy < 2; copy++) {
            sent.push_back(message(link.rank(), peer, static_cast<int>(channel) * 2 + copy, sizes[i]));
            transfers.push_back(link.send(channel, peer, 5, sent.back()));
          }
      }
    };
    if (i % 2 == 0) receive_all();
    send_all();
    if (i % 2 == 1) receive_all();
    waiting.until(transfers);
    for (const auto& [found, expected] : received) expect(found == expected, "a message arrives whole and in order");
    count += static_cast<int>(received.size());
  }
  return count;
}

void barrier(Link& link) {
  Waiting waiting(link);
  std::vector<Link::Transfer> transfers;
  std::vector<Bytes> places(static_cast<size_t>(link.size()), Bytes(1));
  const Bytes sent(1);
  for (int peer = 0; peer < link.size(); peer++) {
    if (peer == link.rank()) continue;
    transfers.push_back(link.receive(Channel::control, peer, 1, places[static_cast<size_t>(peer)]));
    transfers.push_back(link.send(Channel::control, peer, 1, sent));
  }
  waiting.until(transfers);
}

void check_cancel(Link& link) {
  if (link.size() < 2) return;
  Waiting waiting(link);
  const int next = (link.rank() + 1) % link.size();
  const int before = (link.rank() + link.size() - 1) % link.size();
  Bytes place(1000, std::byte{0});
  const Link::Transfer never = link.receive(Channel::data, before, 77, place);
  waiting.turn();
  expect(link.cancel(never), "a receive whose message was not sent can be given up");
  // All have given theirs up before the first message is sent, which is another receive's.
  barrier(link);
  Bytes second(1000);
  const Link::Transfer later = link.receive(Channel::data, before, 77, second);
  const Bytes sent = message(link.rank(), next, 77, 1000);
  waiting.until({link.send(Channel::data, next, 77, sent), later});
  expect(second == message(before, link.rank(), 77, 1000), "a message is received after another receive was given up");
  expect(!waiting.has(never), "poll() does not return what was given up");
  expect(place == Bytes(1000, std::byte{0}), "what was given up touches no memory");
  expect(!link.cancel(later), "what has arrived cannot be given up");
}

std::string check(Link& link) {
  const int messages = check_messages(link);
  check_cancel(link);
  return "\"messages\":" + std::to_string(messages);
}

std::string lose(Link& link) {
  check_messages(link);
  barrier(link);
  const int last = link.size() - 1;
  if (link.rank() == last) kill(getpid(), SIGKILL);
  const auto begin = Clock::now();
  Bytes place(64);
  link.receive(Channel::urgent, last, 3, place);
  std::vector<Link::Transfer> done;
  std::string lost;
  while (lost.empty() && seconds_since(begin) < 30) {
    try {
      link.poll(done);
    } catch (const Error& error) {
      expect(error.code() == "HOST_LOST", "the loss of a host is HOST_LOST, not " + error.code());
      lost = error.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  expect(!lost.empty(), "the loss of a host is told");
  const double noticed = seconds_since(begin);
  const std::vector<int> former = link.shrink();
  expect(!former.empty(), "this MPI can shrink a link");
  const double shrunk = seconds_since(begin);
  std::string ranks;
  for (const int each : former) {
    if (!ranks.empty()) ranks += ',';
    ranks += std::to_string(each);
  }
  expect(static_cast<int>(former.size()) == link.size() && former[static_cast<size_t>(link.rank())] >= 0, "all others are left");
  check_messages(link);
  return "\"former\":[" + ranks + "],\"noticed\":" + std::to_string(noticed) + ",\"shrunk\":" + std::to_string(shrunk) + ",\"error\":\"" +
         lost + "\"";
}

std::string times_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return "\"rounds\":" + std::to_string(seconds.size()) + ",\"seconds\":" + std::to_string(seconds[seconds.size() / 2]) +
         ",\"least\":" + std::to_string(seconds.front());
}

// Every rank owns a piece: it receives the others' parts of it, adds them up in rank order and sends the sum to all.
std::string exchange(Link& link, size_t bytes, int rounds) {
  const size_t hosts = static_cast<size_t>(link.size());
  const size_t own = static_cast<size_t>(link.rank());
  const size_t floats = bytes / sizeof(float) / hosts;
  const size_t piece = floats * sizeof(float);
  std::vector<float> values(floats * hosts, 1.0F);
  std::vector<std::vector<float>> parts(hosts, std::vector<float>(floats));
  const auto piece_of = [&](size_t host) { return std::as_writable_bytes(std::span(values).subspan(host * floats, floats)); };
  std::vector<double> seconds;
  Waiting waiting(link);
  for (int round = 0; round < rounds; round++) {
    barrier(link);
    const auto begin = Clock::now();
    std::vector<Link::Transfer> to_owners;
    std::vector<Link::Transfer> sums;
    for (size_t i = 1; i < hosts; i++) {
      const size_t from = (own + hosts - i) % hosts;
      to_owners.push_back(link.receive(Channel::data, static_cast<int>(from), 0, std::as_writable_bytes(std::span(parts[from]))));
    }
    for (size_t i = 1; i < hosts; i++) {
      const size_t to = (own + i) % hosts;
      to_owners.push_back(link.send(Channel::data, static_cast<int>(to), 0, piece_of(to)));
    }
    waiting.until(to_owners);
    for (size_t i = 1; i < hosts; i++) {
      const size_t from = (own + hosts - i) % hosts;
      sums.push_back(link.receive(Channel::data, static_cast<int>(from), 1, piece_of(from)));
    }
    float* const sum = values.data() + own * floats;
    for (size_t host = 0; host < hosts; host++)
      if (host != own)
        for (size_t i = 0; i < floats; i++) sum[i] += parts[host][i];
    for (size_t i = 1; i < hosts; i++) sums.push_back(link.send(Channel::data, static_cast<int>((own + i) % hosts), 1, piece_of(own)));
    waiting.until(sums);
    seconds.push_back(seconds_since(begin));
    std::fill(values.begin(), values.end(), 1.0F);
  }
  return "\"bytes\":" + std::to_string(piece * hosts) + "," + times_of(std::move(seconds));
}

std::string allreduce(Link& link, size_t bytes, int rounds) {
  std::vector<float> values(bytes / sizeof(float), 1.0F);
  std::vector<float> sums(values.size());
  std::vector<double> seconds;
  for (int round = 0; round < rounds; round++) {
    barrier(link);
    const auto begin = Clock::now();
    expect_success(MPI_Allreduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
                   "MPI_Allreduce");
    seconds.push_back(seconds_since(begin));
  }
  return "\"bytes\":" + std::to_string(values.size() * sizeof(float)) + "," + times_of(std::move(seconds));
}

std::string run(Link& link, const std::vector<std::string>& words) {
  const std::string mode = words.empty() ? "check" : words[0];
  const size_t bytes = words.size() > 1 ? std::stoul(words[1]) : 1 << 20;
  const int rounds = words.size() > 2 ? std::stoi(words[2]) : 20;
  if (mode == "check") return check(link);
  if (mode == "lose") return lose(link);
  if (mode == "exchange") return exchange(link, bytes, rounds);
  if (mode == "allreduce") return allreduce(link, bytes, rounds);
  throw Error("UNKNOWN_NAME", "received " + mode + "; use one of check, lose, exchange, allreduce");
}

}  // namespace
}  // namespace arbalest

int main(int count, char** words) {
  try {
    const std::unique_ptr<arbalest::MpiLink> opened = arbalest::MpiLink::open(0, {{}});
    arbalest::MpiLink& link = *opened;
    const std::vector<std::string> given(words + 1, words + count);
    const std::string result = arbalest::run(link, given);
    if (link.rank() == 0)
      std::printf("{\"probe\":\"%s\",\"size\":%d,%s}\n", given.empty() ? "check" : given[0].c_str(), link.size(), result.c_str());
    std::fflush(stdout);
    link.end();
    return 0;
  } catch (const arbalest::Error& error) {
    std::fprintf(stderr, "%s: %s\n", error.code().c_str(), error.what());
    return 1;
  }
}
