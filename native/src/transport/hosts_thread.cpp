#include "transport/hosts_thread.h"

#include <pthread.h>

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
constexpr std::byte kBeating{1}, kEnding{2};

}  // namespace

HostsThread::HostsThread(const std::function<std::unique_ptr<Link>()>& open, double deadline) : deadline_(deadline) {
  thread_ = std::thread([this, open] { work(open); });
}

HostsThread::~HostsThread() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  called_.notify_one();
  thread_.join();
}

bool HostsThread::is_open() const {
  const std::lock_guard lock(mutex_);
  return opened_;
}

void HostsThread::wait_until_open() const {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return opened_ || closed_; });
  if (!opened_) std::rethrow_exception(failure_);
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
  to_leave_.push_back(owner);
  called_.notify_one();
  answered_.wait(lock,
                 [&] { return closed_ || (std::ranges::count(to_leave_, owner) == 0 && std::ranges::count(leaving_owners_, owner) == 0); });
  on_change_.erase(owner);
}

void HostsThread::on_change(const void* owner, Done changed) {
  const std::lock_guard lock(mutex_);
  on_change_[owner] = std::move(changed);
}

std::exception_ptr HostsThread::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void HostsThread::end() {
  const std::lock_guard lock(mutex_);
  ends_ = true;
  called_.notify_one();
}

bool HostsThread::has_ended() const {
  const std::lock_guard lock(mutex_);
  if (closed_ && !ended_) std::rethrow_exception(failure_);
  return closed_;
}

void HostsThread::end(double seconds) {
  end();
  std::unique_lock lock(mutex_);
  if (!answered_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return closed_; }))
    throw Error("HOST_LOST", "hosts: not all of them have ended within " + std::to_string(static_cast<int>(seconds)) + " s");
  if (!ended_) std::rethrow_exception(failure_);
}

void HostsThread::abort(int code) {
  const std::lock_guard lock(mutex_);
  abort_ = code;
  called_.notify_one();
}

void HostsThread::work(const std::function<std::unique_ptr<Link>()>& open) {
  // For those who look at the threads of the process.
  pthread_setname_np(pthread_self(), "arbalest-hosts");
  try {
    join(open());
    serve();
    end_link();
  } catch (...) {
    close(std::current_exception());
  }
}

void HostsThread::join(std::unique_ptr<Link> link) {
  link_ = std::move(link);
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
    answered_.notify_all();
  }
  tell_change();
}

// None of their owners leaves before give_up() is answered, by this thread.
void HostsThread::tell_change() {
  std::map<const void*, Done> listeners;
  {
    const std::lock_guard lock(mutex_);
    listeners = on_change_;
  }
  for (const auto& [owner, changed] : listeners) changed();
}

void HostsThread::serve() {
  while (!all_end()) {
    sleep();
    take_calls();
    if (poll()) eager_ = kEagerPolls;
    let_go();
    const Clock::time_point now = Clock::now();
    watch(std::min(std::chrono::duration<double>(now - last_turn_).count(), kLongestTurn));
    last_turn_ = now;
    if (!ending_ && now - last_beat_ >= kBeat) beat();
  }
}

void HostsThread::sleep() {
  if (eager_ > 0) {
    --eager_;
    pause_ = kShortestPause;
    return;
  }
  std::unique_lock lock(mutex_);
  const auto called = [this] { return over_ || (ends_ && !ending_) || abort_ || !orders_.empty() || !to_leave_.empty(); };
  called_.wait_for(lock, urgent_ > 0 || ending_ ? pause_ : kIdlePause, called);
  pause_ = std::min<Clock::duration>(pause_ + pause_ / 16, kLongestPause);
}

void HostsThread::take_calls() {
  std::vector<Order> orders;
  std::vector<const void*> leaving;
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    leaving.swap(to_leave_);
    leaving_owners_.insert(leaving_owners_.end(), leaving.begin(), leaving.end());
    ends = ends_ && !ending_;
    if (over_) throw Error("INVALID_STATE", "hosts: this process has left them");
    if (abort_) {
      link_->abort(*abort_);
      throw Error("HOST_LOST", "hosts: this process has ended the run of all of them");
    }
  }
  if (!orders.empty()) eager_ = kEagerPolls;
  for (Order& order : orders) start(std::move(order));
  for (const void* owner : leaving) cancel_receives(owner);
  if (!ends) return;
  ending_ = true;
  beat();
}

void HostsThread::start(Order order) {
  const Link::Transfer transfer = order.sends ? link_->send(order.channel, order.rank, order.tag, order.bytes)
                                              : link_->receive(order.channel, order.rank, order.tag, order.bytes);
  const bool urgent = order.channel != Channel::control;
  urgent_ += urgent;
  under_way_.emplace(transfer, UnderWay{order.owner, order.sends, urgent, false, std::move(order.done)});
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
    if (!ended.given_up) ended.done();
  }
  return !done_.empty();
}

void HostsThread::watch(double seconds) {
  for (int rank = 0; rank < size_; ++rank) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (rank == rank_ || peer.ends || (peer.silent += seconds) < deadline_) continue;
    throw Error("HOST_LOST", "host " + std::to_string(rank) + ": it has been silent for " + std::to_string(static_cast<int>(deadline_)) +
                                 " s; look whether its process runs and whether its network is up");
  }
}

// A host that ends says so with its last beat.
void HostsThread::beat() {
  last_beat_ = Clock::now();
  const std::byte& beat = ending_ ? kEnding : kBeating;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) start({this, true, Channel::control, rank, kBeatTag, {const_cast<std::byte*>(&beat), 1}, [] {}});
}

void HostsThread::expect_beat(int rank) {
  start({this, false, Channel::control, rank, kBeatTag, {&peers_[static_cast<size_t>(rank)].beat, 1}, [this, rank] { take_beat(rank); }});
}

void HostsThread::take_beat(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  peer.silent = 0;
  peer.ends = peer.beat == kEnding;
  if (!peer.ends) expect_beat(rank);
}

// Each has been told of all others' end, so that none is missed.
bool HostsThread::all_end() const {
  if (!ending_ || std::ranges::any_of(under_way_, [this](const auto& each) { return each.second.owner == this && each.second.sends; }))
    return false;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_ && !peers_[static_cast<size_t>(rank)].ends) return false;
  return true;
}

bool HostsThread::has_transfers(const void* owner) const {
  return std::ranges::any_of(under_way_, [&](const auto& each) { return each.second.owner == owner; });
}

void HostsThread::cancel_receives(const void* owner) {
  for (auto each = under_way_.begin(); each != under_way_.end();) {
    UnderWay& transfer = each->second;
    if (transfer.owner == owner) transfer.given_up = true;
    if (transfer.owner != owner || transfer.sends || !link_->cancel(each->first)) {
      ++each;
      continue;
    }
    urgent_ -= transfer.urgent;
    each = under_way_.erase(each);
  }
  leaving_.push_back({owner, Clock::now() + kPatience});
}

void HostsThread::let_go() {
  const Clock::time_point now = Clock::now();
  for (const Leaving& each : leaving_) {
    if (!has_transfers(each.owner)) {
      const std::lock_guard lock(mutex_);
      std::erase(leaving_owners_, each.owner);
      answered_.notify_all();
    } else if (now >= each.latest) {
      throw Error("HOST_LOST", "host " + std::to_string(rank_) + ": its group has ended while the other hosts were in a round of theirs");
    }
  }
  std::erase_if(leaving_, [&](const Leaving& each) { return !has_transfers(each.owner); });
}

void HostsThread::end_link() {
  for (const auto& [transfer, each] : under_way_)
    if (!each.sends) link_->cancel(transfer);
  link_->end();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  close(std::make_exception_ptr(Error("INVALID_STATE", "hosts: the link between them has ended")));
}

void HostsThread::close(std::exception_ptr failure) noexcept {
  // First, so that nothing touches the owners' memory any more.
  link_.reset();
  under_way_.clear();
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    orders_.clear();
  }
  tell_change();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  answered_.notify_all();
}

}  // namespace arbalest
