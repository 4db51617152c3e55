#include "transport/hosts_thread.h"

#include <algorithm>
#include <utility>

namespace arbalest {
namespace {

using namespace std::chrono_literals;

constexpr auto kShortestPause = 50us, kLongestPause = 1000us, kIdlePause = 10'000us;
// Polls without a pause after something has moved: a message seldom comes alone.
constexpr int kEagerPolls = 20;
constexpr auto kBeat = 1s;
// A longer time between two turns of the thread is that of a process which was stopped itself.
constexpr double kLongestTurn = 0.2;
// For what is being sent when its owner goes.
constexpr auto kPatience = 5s;
constexpr int kBeatTag = 0;
constexpr std::byte kBeating{1};

}  // namespace

HostsThread::HostsThread(const std::function<std::unique_ptr<Link>()>& open, double deadline) : deadline_(deadline) {
  thread_ = std::thread([this, open] { work(open); });
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return opened_ || failure_; });
  if (opened_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(failure_);
}

HostsThread::~HostsThread() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  called_.notify_one();
  thread_.join();
}

void HostsThread::send(const void* owner, Channel channel, int to, int tag, std::span<const std::byte> bytes, Done done) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  orders_.push_back({owner, true, channel, to, tag, {const_cast<std::byte*>(bytes.data()), bytes.size()}, std::move(done)});
  called_.notify_one();
}

void HostsThread::receive(const void* owner, Channel channel, int from, int tag, std::span<std::byte> bytes, Done done) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  orders_.push_back({owner, false, channel, from, tag, bytes, std::move(done)});
  called_.notify_one();
}

void HostsThread::give_up(const void* owner) noexcept {
  std::unique_lock lock(mutex_);
  leaving_.push_back(owner);
  called_.notify_one();
  answered_.wait(lock, [&] { return std::ranges::count(leaving_, owner) == 0; });
}

void HostsThread::on_failure(const void* owner, Done failed) {
  const std::lock_guard lock(mutex_);
  on_failure_[owner] = std::move(failed);
}

std::exception_ptr HostsThread::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void HostsThread::abort(int code) {
  const std::lock_guard lock(mutex_);
  abort_ = code;
  called_.notify_one();
}

void HostsThread::work(const std::function<std::unique_ptr<Link>()>& open) {
  try {
    link_ = open();
    rank_ = link_->rank();
    size_ = link_->size();
    peers_.resize(static_cast<size_t>(size_));
    last_turn_ = Clock::now();
    for (int rank = 0; rank < size_; ++rank)
      if (rank != rank_) expect_beat(rank);
    beat();
    {
      const std::lock_guard lock(mutex_);
      opened_ = true;
    }
    answered_.notify_all();
    serve();
    close();
  } catch (...) {
    fail(std::current_exception());
  }
  if (opened_) wait_for_the_end();
  link_.reset();
}

void HostsThread::serve() {
  for (bool over = false; !over;) {
    sleep();
    std::vector<Order> orders;
    std::vector<const void*> leaving;
    {
      const std::lock_guard lock(mutex_);
      orders.swap(orders_);
      leaving = leaving_;
      over = over_;
      if (abort_) link_->abort(*abort_);
    }
    for (Order& order : orders) start(std::move(order));
    const bool moved = poll();
    if (moved || !orders.empty()) eager_ = kEagerPolls;
    for (const void* owner : leaving) give_up_transfers(owner);
    if (!leaving.empty()) {
      const std::lock_guard lock(mutex_);
      for (const void* owner : leaving) {
        std::erase(leaving_, owner);
        on_failure_.erase(owner);
      }
      answered_.notify_all();
    }
    const Clock::time_point now = Clock::now();
    watch(std::min(std::chrono::duration<double>(now - last_turn_).count(), kLongestTurn));
    last_turn_ = now;
    if (now - last_beat_ >= kBeat) beat();
  }
}

void HostsThread::sleep() {
  std::unique_lock lock(mutex_);
  const auto called = [this] { return over_ || abort_ || !orders_.empty() || !leaving_.empty(); };
  if (eager_ > 0) {
    --eager_;
    pause_ = kShortestPause;
  } else {
    called_.wait_for(lock, urgent_ > 0 ? pause_ : kIdlePause, called);
    pause_ = std::min<Clock::duration>(pause_ + pause_ / 16, kLongestPause);
  }
}

void HostsThread::start(Order order) {
  const Link::Transfer transfer = order.sends ? link_->send(order.channel, order.rank, order.tag, order.bytes)
                                              : link_->receive(order.channel, order.rank, order.tag, order.bytes);
  const bool urgent = order.channel != Channel::control;
  urgent_ += urgent;
  under_way_.emplace(transfer, UnderWay{order.owner, order.sends, urgent, std::move(order.done)});
}

bool HostsThread::poll() {
  done_.clear();
  link_->poll(done_);
  for (const Link::Transfer transfer : done_) {
    const auto found = under_way_.find(transfer);
    if (found == under_way_.end()) continue;
    const UnderWay ended = std::move(found->second);
    under_way_.erase(found);
    urgent_ -= ended.urgent;
    ended.done();
  }
  return !done_.empty();
}

void HostsThread::watch(double seconds) {
  for (int rank = 0; rank < size_; ++rank) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (rank == rank_ || (peer.silent += seconds) < deadline_) continue;
    throw Error("HOST_LOST", "host " + std::to_string(rank) + ": it has been silent for " + std::to_string(static_cast<int>(deadline_)) +
                                 " s; look whether its process runs and whether its network is up");
  }
}

void HostsThread::beat() {
  last_beat_ = Clock::now();
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) start({this, true, Channel::control, rank, kBeatTag, {const_cast<std::byte*>(&kBeating), 1}, [] {}});
}

void HostsThread::expect_beat(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.silent = 0;
  start({this, false, Channel::control, rank, kBeatTag, {&peer.beat, 1}, [this, rank] { expect_beat(rank); }});
}

bool HostsThread::has_transfers(const void* owner) const {
  return std::ranges::any_of(under_way_, [&](const auto& each) { return each.second.owner == owner; });
}

void HostsThread::give_up_transfers(const void* owner) {
  for (auto each = under_way_.begin(); each != under_way_.end();) {
    UnderWay& transfer = each->second;
    if (transfer.owner == owner) transfer.done = [] {};
    if (transfer.owner != owner || transfer.sends || !link_->cancel(each->first)) {
      ++each;
      continue;
    }
    urgent_ -= transfer.urgent;
    each = under_way_.erase(each);
  }
  const Clock::time_point latest = Clock::now() + kPatience;
  while (has_transfers(owner)) {
    if (Clock::now() >= latest)
      throw Error("HOST_LOST", "host " + std::to_string(rank_) + ": its group has ended while the other hosts were in a round of theirs");
    if (!poll()) std::this_thread::sleep_for(kShortestPause);
  }
}

void HostsThread::fail(std::exception_ptr failure) noexcept {
  under_way_.clear();
  std::map<const void*, Done> listeners;
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    orders_.clear();
    listeners.swap(on_failure_);
    answered_.notify_all();
  }
  // None of them leaves before wait_for_the_end().
  for (const auto& [owner, failed] : listeners) failed();
}

// The beats that have been sent need not arrive: a host may have ended before.
void HostsThread::close() {
  for (const auto& [transfer, each] : under_way_)
    if (each.owner == this && !each.sends) link_->cancel(transfer);
  link_->end();
}

void HostsThread::wait_for_the_end() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    called_.wait(lock, [this] { return over_ || abort_ || !leaving_.empty(); });
    if (abort_) link_->abort(*abort_);
    abort_.reset();
    leaving_.clear();
    answered_.notify_all();
  }
}

}  // namespace arbalest
