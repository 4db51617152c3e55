#include "transport/host_gather.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};

}  // namespace

HostGather::HostGather(std::shared_ptr<HostsThread> hosts, Channel channel, int tag)
    : hosts_(std::move(hosts)), channel_(channel), tag_(tag) {
  hosts_->on_change(
      this, [this] { wake(); },
      {HostsThread::key_of(channel, tag), [] { return HostsThread::Bytes(); }, [this](const auto& states) { go_on(states); }});
}

HostGather::~HostGather() { hosts_->give_up(this); }

std::shared_ptr<const HostGather::Turn> HostGather::begin(std::span<const std::byte> own) {
  const auto turn = std::make_shared<Turn>();
  const auto hosts = static_cast<size_t>(size());
  turn->all.resize(hosts * own.size());
  const auto place = [&](int host) { return std::span(turn->all).subspan(static_cast<size_t>(host) * own.size(), own.size()); };
  std::ranges::copy(own, place(rank()).begin());
  const std::vector<int> others = hosts_->others();
  const std::lock_guard lock(mutex_);
  // A host may be known as lost before the clients of the link are told.
  for (int host = 0; host < size() && !loss_; ++host) loss_ = hosts_->loss_of(host);
  turn->left = 2 * others.size();
  const auto done = [this, turn] { arrive(*turn); };
  for (const int host : others) hosts_->receive(this, channel_, host, tag_, place(host), done);
  for (const int host : others) hosts_->send(this, channel_, host, tag_, place(rank()), done);
  return turn;
}

bool HostGather::await(const Turn& turn, const std::atomic<bool>& called) {
  std::unique_lock lock(mutex_);
  while (turn.left > 0) {
    lock.unlock();
    check();
    lock.lock();
    if (called) return false;
    changed_.wait_for(lock, kSlice, [&] { return turn.left == 0 || called; });
  }
  return true;
}

void HostGather::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void HostGather::gather(std::span<const std::byte> own, std::span<std::byte> all) {
  const auto turn = begin(own);
  if (!await(*turn, given_up_)) throw Error("HOST_LOST", "hosts: this one has given up what it exchanges with the others");
  std::ranges::copy(turn->all, all.begin());
}

void HostGather::check() {
  if (const std::exception_ptr failure = hosts_->failure()) std::rethrow_exception(failure);
  const std::lock_guard lock(mutex_);
  if (loss_) std::rethrow_exception(loss_);
}

void HostGather::give_up() noexcept {
  given_up_ = true;
  wake();
}

void HostGather::arrive(Turn& turn) {
  const std::lock_guard lock(mutex_);
  if (--turn.left == 0) changed_.notify_all();
}

// What was under way never comes: the hosts have no sums of devices in common any more.
void HostGather::go_on(const std::map<int, HostsThread::Bytes>& states) {
  std::exception_ptr loss;
  for (int host = 0; host < size() && !loss; ++host)
    if (!states.contains(host)) loss = hosts_->loss_of(host);
  const std::lock_guard lock(mutex_);
  if (!loss_) loss_ = std::move(loss);
  changed_.notify_all();
}

}  // namespace arbalest
