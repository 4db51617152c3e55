#include "transport/link_probe.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};
// As long as the chunks of an exchange.
constexpr size_t kMessageBytes = size_t{32} << 10;
// Of the first turn, which tells how long the others should be.
constexpr size_t kFewestMessages = 16, kMostMessages = 512;
// Of a turn, and of all of them.
constexpr double kTurnSeconds = 0.06, kAllSeconds = 0.6;
constexpr int kMostTurns = 8, kLatencyTurns = 9;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// All, or powers of two and the distance to the opposite host.
std::vector<int> distances(int hosts) {
  std::vector<int> all;
  for (int distance = 1; distance < hosts; distance += hosts - 1 <= kMostTurns ? 1 : distance) all.push_back(distance);
  if (std::ranges::count(all, hosts / 2) == 0 && hosts > 1) all.push_back(hosts / 2);
  return all;
}

}  // namespace

LinkProbe::LinkProbe(std::shared_ptr<HostsThread> hosts, int number)
    : hosts_(std::move(hosts)), tag_(HostsThread::tag_of_group(number)), gather_(hosts_, Channel::urgent, tag_) {
  thread_ = std::thread([this] {
    std::optional<LinkFigures> figures;
    std::exception_ptr failure;
    try {
      figures = measure();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    figures_ = std::move(figures);
    failure_ = failure;
  });
}

LinkProbe::~LinkProbe() {
  given_up_ = true;
  gather_.give_up();
  thread_.join();
  hosts_->give_up(this);
}

std::optional<LinkFigures> LinkProbe::figures() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return figures_;
}

template <class Number> std::vector<Number> LinkProbe::gather(Number own) {
  std::vector<Number> all(static_cast<size_t>(hosts_->size()));
  gather_.gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

LinkFigures LinkProbe::measure() {
  LinkFigures figures;
  const Clock::time_point begin = Clock::now();
  figures.latency = gather(measure_latency());
  const double busy = processor_seconds();
  double moved = 0;
  size_t messages = kFewestMessages;
  for (const int distance : distances(hosts_->size())) {
    // The first turn makes connections, too: it is made twice.
    for (int again = figures.turns.empty() ? 2 : 1; again > 0; --again) {
      const std::vector<double> rates = gather(receive_rate(distance, messages));
      moved += 2.0 * static_cast<double>(messages * kMessageBytes);
      const double wanted = std::ranges::min(rates) * kTurnSeconds / static_cast<double>(kMessageBytes);
      if (figures.turns.empty())
        messages = static_cast<size_t>(std::clamp(wanted, static_cast<double>(kFewestMessages), static_cast<double>(kMostMessages)));
      if (again == 1) figures.turns.push_back({distance, rates});
    }
    if (std::ranges::max(gather(seconds_since(begin))) > kAllSeconds) break;
  }
  figures.seconds_per_byte = gather(moved > 0 ? (processor_seconds() - busy) / moved : 0.0);
  return figures;
}

double LinkProbe::measure_latency() {
  std::vector<double> seconds;
  for (int turn = 0; turn < kLatencyTurns; ++turn) {
    const Clock::time_point begin = Clock::now();
    gather(std::byte{});
    seconds.push_back(seconds_since(begin));
  }
  std::ranges::nth_element(seconds, seconds.begin() + kLatencyTurns / 2);
  return seconds[kLatencyTurns / 2];
}

double LinkProbe::receive_rate(int distance, size_t messages) {
  const int size = hosts_->size(), rank = hosts_->rank();
  const std::vector<std::byte> sent(kMessageBytes);
  std::vector<std::byte> received(messages * kMessageBytes);
  const size_t skipped = messages / 4;
  int left = 0;
  size_t arrived = 0;
  Clock::time_point begin, end;
  // Whatever ends this call, nothing reads or writes its memory any more.
  struct Ended {
    LinkProbe& probe;
    ~Ended() { probe.hosts_->give_up(&probe); }
  } ended{*this};
  left = static_cast<int>(2 * messages);
  for (size_t i = 0; i < messages; ++i)
    hosts_->receive(this, Channel::data, (rank + size - distance) % size, tag_,
                    std::span(received).subspan(i * kMessageBytes, kMessageBytes), [&, skipped] {
                      const std::lock_guard lock(mutex_);
                      if (++arrived == skipped) begin = Clock::now();
                      end = Clock::now();
                      if (--left == 0) changed_.notify_all();
                    });
  // Every receive is there before its message goes.
  gather(std::byte{});
  for (size_t i = 0; i < messages; ++i) hosts_->send(this, Channel::data, (rank + distance) % size, tag_, sent, [&] { arrive(left); });
  std::unique_lock lock(mutex_);
  while (left > 0) {
    lock.unlock();
    gather_.check();
    if (given_up_) throw Error("HOST_LOST", "hosts: this one has given up to measure the links");
    lock.lock();
    changed_.wait_for(lock, kSlice, [&] { return left == 0 || given_up_; });
  }
  const double seconds = seconds_between(begin, end);
  return static_cast<double>((messages - skipped) * kMessageBytes) / std::max(seconds, 1e-9);
}

void LinkProbe::arrive(int& left) {
  const std::lock_guard lock(mutex_);
  if (--left == 0) changed_.notify_all();
}

}  // namespace arbalest
