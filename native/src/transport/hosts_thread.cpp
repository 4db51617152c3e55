#include "transport/hosts_thread.h"

#include <pthread.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace arbalest {
namespace {

using namespace std::chrono_literals;

constexpr Clock::duration kLongestPause = 1ms, kForeseenPause = 4ms, kIdlePause = 10ms;
constexpr auto kBeat = 1s;
// A longer time between two turns of the thread is that of a process which was stopped itself.
constexpr double kLongestTurn = 0.2;
// For what is being sent when its client goes.
constexpr auto kPatience = 5s;
// On the control channel, beside those of HostMessages and of the recovery.
constexpr int kBeatTag = 0;
constexpr std::byte kBeating{1}, kEnding{2};

}  // namespace

HostsThread::HostsThread(const std::function<std::unique_ptr<Link>()>& open, double deadline) : deadline_(deadline) {
  thread_ = std::thread([this, open, opening = opening_] { work(open, opening); });
}

HostsThread::~HostsThread() {
  {
    const std::lock_guard lock(opening_->mutex);
    opening_->is_left = !opening_->is_over;
  }
  if (opening_->is_left) {
    thread_.detach();
    return;
  }
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

void HostsThread::send(const void* client, Channel channel, int to, int tag, std::span<const std::byte> bytes, Done done) {
  order({client, true, channel, to, tag, {const_cast<std::byte*>(bytes.data()), bytes.size()}, std::move(done)});
}

void HostsThread::receive(const void* client, Channel channel, int from, int tag, std::span<std::byte> bytes, Done done) {
  order({client, false, channel, from, tag, bytes, std::move(done)});
}

void HostsThread::foresee(const void* client, Channel channel, int from, int tag, std::span<std::byte> bytes, Done done) {
  order({client, false, channel, from, tag, bytes, std::move(done), true});
}

void HostsThread::order(Order order) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  orders_.push_back(std::move(order));
  called_.notify_one();
}

void HostsThread::await(const void* client, bool awaits) {
  const std::lock_guard lock(mutex_);
  if (!awaits) {
    awaiting_.erase(client);
  } else if (awaiting_.insert(client).second) {
    is_called_ = true;
    called_.notify_one();
  }
}

void HostsThread::give_up(const void* client) noexcept {
  {
    const std::lock_guard opening(opening_->mutex);
    if (!opening_->is_over) {
      // Nothing of it is under way, and its thread cannot answer.
      const std::lock_guard lock(mutex_);
      std::erase_if(orders_, [&](const Order& order) { return order.client == client; });
      on_change_.erase(client);
      awaiting_.erase(client);
      return;
    }
  }
  std::unique_lock lock(mutex_);
  awaiting_.erase(client);
  to_leave_.push_back(client);
  called_.notify_one();
  answered_.wait(
      lock, [&] { return closed_ || (std::ranges::count(to_leave_, client) == 0 && std::ranges::count(leaving_clients_, client) == 0); });
  on_change_.erase(client);
}

void HostsThread::on_change(const void* client, Done changed, Recovery recovery) {
  const std::lock_guard lock(mutex_);
  on_change_[client] = {client, std::move(changed), std::move(recovery)};
}

std::vector<int> HostsThread::others() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> others;
  for (int i = 1; i < size_; ++i)
    if (const int rank = (rank_ + i) % size_; !lost_.contains(rank)) others.push_back(rank);
  return others;
}

bool HostsThread::is_lost(int rank) const {
  const std::lock_guard lock(mutex_);
  return lost_.contains(rank);
}

std::exception_ptr HostsThread::loss_of(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto found = lost_.find(rank);
  return found == lost_.end() ? nullptr : std::make_exception_ptr(Error("HOST_LOST", found->second));
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

void HostsThread::work(const std::function<std::unique_ptr<Link>()>& open, const std::shared_ptr<Opening>& opening) {
  // For those who look at the threads of the process.
  pthread_setname_np(pthread_self(), "arbalest-hosts");
  std::unique_ptr<Link> link;
  std::exception_ptr failure;
  try {
    link = open();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(opening->mutex);
    // Nothing of this object is there any more.
    if (opening->is_left) return;
    opening->is_over = true;
  }
  try {
    if (failure) std::rethrow_exception(failure);
    join(std::move(link));
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
  link_ranks_.resize(static_cast<size_t>(size_));
  std::iota(link_ranks_.begin(), link_ranks_.end(), 0);
  last_turn_ = Clock::now();
  eager_ = kEagerPolls;
  for (const int rank : others()) expect_beat(rank);
  beat();
  {
    const std::lock_guard lock(mutex_);
    opened_ = true;
    answered_.notify_all();
  }
  tell_change();
}

// None of their clients leaves before give_up() is answered, by this thread.
void HostsThread::tell_change() {
  for (const Listener& each : listeners()) each.changed();
}

// Those that go away have nothing to do any more.
std::vector<HostsThread::Listener> HostsThread::listeners() const {
  const std::lock_guard lock(mutex_);
  std::vector<Listener> found;
  for (const auto& [client, listener] : on_change_)
    if (std::ranges::count(to_leave_, client) == 0 && std::ranges::count(leaving_clients_, client) == 0) found.push_back(listener);
  return found;
}

void HostsThread::serve() {
  while (!all_end()) {
    sleep();
    take_calls();
    if (poll()) eager_ = kEagerPolls;
    if (loss_) recover();
    let_go();
    const Clock::time_point now = Clock::now();
    watch(std::min(seconds_between(last_turn_, now), kLongestTurn));
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
  const auto called = [this] { return over_ || (ends_ && !ending_) || abort_ || !orders_.empty() || !to_leave_.empty() || is_called_; };
  const auto under_way = [this](Urgency urgency) { return under_way_by_urgency_[static_cast<size_t>(urgency)] > 0; };
  if (under_way(Urgency::awaited) || !awaiting_.empty() || ending_) {
    called_.wait_for(lock, pause_, called);
    pause_ = std::min(pause_ + pause_ / 8, kLongestPause);
  } else if (under_way(Urgency::foreseen)) {
    called_.wait_for(lock, pause_, called);
    pause_ = std::min(2 * pause_, kForeseenPause);
  } else {
    called_.wait_for(lock, kIdlePause, called);
  }
  // Somebody waits from now on.
  if (std::exchange(is_called_, false)) pause_ = kShortestPause;
}

void HostsThread::take_calls() {
  std::vector<Order> orders;
  std::vector<const void*> leaving;
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    leaving.swap(to_leave_);
    leaving_clients_.insert(leaving_clients_.end(), leaving.begin(), leaving.end());
    ends = ends_ && !ending_;
    if (over_) throw Error("INVALID_STATE", "hosts: this process has left them");
    if (abort_) {
      link_->abort(*abort_);
      throw Error("HOST_LOST", "hosts: this process has ended the run of all of them");
    }
  }
  if (!orders.empty()) eager_ = kEagerPolls;
  for (Order& order : orders) start(std::move(order));
  for (const void* client : leaving) cancel_receives(client);
  if (!ends) return;
  ending_ = true;
  beat();
}

// After a loss nothing is started: the clients start again.
void HostsThread::start(Order order) {
  if (loss_ || is_lost(order.rank)) return;
  ask_link([&] {
    const int rank = link_ranks_[static_cast<size_t>(order.rank)];
    const Link::Transfer transfer = order.sends ? link_->send(order.channel, rank, order.tag, order.bytes)
                                                : link_->receive(order.channel, rank, order.tag, order.bytes);
    const Urgency urgency = order.channel == Channel::control ? Urgency::none : order.is_foreseen ? Urgency::foreseen : Urgency::awaited;
    ++under_way_by_urgency_[static_cast<size_t>(urgency)];
    under_way_.emplace(transfer, UnderWay{order.client, order.sends, urgency, false, std::move(order.done)});
  });
}

bool HostsThread::poll() {
  if (loss_) return false;
  done_.clear();
  ask_link([&] { link_->poll(done_); });
  for (const Link::Transfer transfer : done_) {
    const auto found = under_way_.find(transfer);
    if (found == under_way_.end()) continue;
    const UnderWay ended = std::move(found->second);
    under_way_.erase(found);
    --under_way_by_urgency_[static_cast<size_t>(ended.urgency)];
    if (!ended.given_up) ended.done();
  }
  return !done_.empty();
}

void HostsThread::watch(double seconds) {
  for (const int rank : others()) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (peer.ends || (peer.silent += seconds) < deadline_) continue;
    throw Error("HOST_LOST", "host " + std::to_string(rank) + ": it has been silent for " + std::to_string(static_cast<int>(deadline_)) +
                                 " s; look whether its process runs and whether its network is up");
  }
}

// A host that ends says so with its last beat.
void HostsThread::beat() {
  last_beat_ = Clock::now();
  const std::byte& beat = ending_ ? kEnding : kBeating;
  for (const int rank : others()) start({this, true, Channel::control, rank, kBeatTag, {const_cast<std::byte*>(&beat), 1}, [] {}});
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
  if (!ending_ || std::ranges::any_of(under_way_, [this](const auto& each) { return each.second.client == this && each.second.sends; }))
    return false;
  return std::ranges::all_of(others(), [this](int rank) { return peers_[static_cast<size_t>(rank)].ends; });
}

bool HostsThread::has_transfers(const void* client) const {
  return std::ranges::any_of(under_way_, [&](const auto& each) { return each.second.client == client; });
}

void HostsThread::cancel_receives(const void* client) {
  for (auto each = under_way_.begin(); each != under_way_.end();) {
    UnderWay& transfer = each->second;
    if (transfer.client == client) transfer.given_up = true;
    bool cancelled = false;
    if (transfer.client == client && !transfer.sends && !loss_) ask_link([&] { cancelled = link_->cancel(each->first); });
    if (!cancelled) {
      ++each;
      continue;
    }
    --under_way_by_urgency_[static_cast<size_t>(transfer.urgency)];
    each = under_way_.erase(each);
  }
  leaving_.push_back({client, Clock::now() + kPatience});
}

void HostsThread::let_go() {
  const Clock::time_point now = Clock::now();
  for (const Leaving& each : leaving_) {
    if (!has_transfers(each.client)) {
      const std::lock_guard lock(mutex_);
      std::erase(leaving_clients_, each.client);
      answered_.notify_all();
    } else if (now >= each.latest) {
      throw Error("HOST_LOST", "host " + std::to_string(rank_) + ": its group has ended while the other hosts were in a round of theirs");
    }
  }
  std::erase_if(leaving_, [&](const Leaving& each) { return !has_transfers(each.client); });
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
  // First, so that nothing touches the clients' memory any more.
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
