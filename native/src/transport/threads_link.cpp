#include "transport/threads_link.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

namespace arbalest {

// Of one host. Its lock is also held while another host copies a message out of this host's memory.
struct ThreadsLink::Mailbox {
  enum class State : uint8_t { expected, open, ended, gone };

  std::mutex mutex;
  State state = State::expected;
  bool cut_off = false;
  int shrunk = 0;  // how often it has left its transfers to shrink the link
  std::vector<Message> arrived;
  std::vector<Transfer> sent;  // its own messages that have been received
};

struct ThreadsLink::Hub {
  explicit Hub(int size) : boxes(static_cast<size_t>(size)) {}
  Mailbox& of(int host) { return boxes[static_cast<size_t>(host)]; }

  std::vector<Mailbox> boxes;
  std::mutex mutex;
  std::map<int, std::vector<int>> survivors;  // by how often the link has shrunk
};

namespace {

std::mutex& hubs_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

std::shared_ptr<ThreadsLink::Hub> ThreadsLink::hub_of(const std::string& name, int size) {
  static std::map<std::string, std::weak_ptr<Hub>> hubs;
  const std::lock_guard lock(hubs_mutex());
  std::weak_ptr<Hub>& known = hubs[name];
  std::shared_ptr<Hub> hub = known.lock();
  if (!hub) {
    if (size < 1) throw Error("INVALID_OPTION", "size: received " + std::to_string(size) + "; give the number of hosts");
    hub = std::make_shared<Hub>(size);
    known = hub;
  }
  if (size != 0 && hub->boxes.size() != static_cast<size_t>(size))
    throw Error("INVALID_OPTION",
                "size: received " + std::to_string(size) + "; the link " + name + " joins " + std::to_string(hub->boxes.size()) + " hosts");
  return hub;
}

ThreadsLink::ThreadsLink(const std::string& name, int rank, int size, bool shrinks)
    : hub_(hub_of(name, size)), host_(rank), shrinks_(shrinks), hosts_(static_cast<size_t>(size)) {
  std::iota(hosts_.begin(), hosts_.end(), 0);
  if (rank < 0 || rank >= size)
    throw Error("INVALID_OPTION", "rank: received " + std::to_string(rank) + "; give 0 to " + std::to_string(size - 1));
  Mailbox& own = hub_->of(host_);
  const std::lock_guard lock(own.mutex);
  if (own.state != Mailbox::State::expected)
    throw Error("INVALID_OPTION", "rank: received " + std::to_string(rank) + ", which another host of the link " + name + " has");
  own.state = Mailbox::State::open;
}

ThreadsLink::~ThreadsLink() {
  Mailbox& own = hub_->of(host_);
  const std::lock_guard lock(own.mutex);
  if (own.state != Mailbox::State::ended) own.state = Mailbox::State::gone;
}

Link::Transfer ThreadsLink::send(Channel channel, int to, int tag, std::span<const std::byte> bytes) {
  const Transfer transfer = ++transfers_;
  {
    Mailbox& own = hub_->of(host_);
    const std::lock_guard lock(own.mutex);
    if (own.cut_off) return transfer;
  }
  Mailbox& box = hub_->of(hosts_[static_cast<size_t>(to)]);
  const std::lock_guard lock(box.mutex);
  if (!box.cut_off) box.arrived.push_back({{channel, host_, tag}, shrunk_, bytes, transfer});
  return transfer;
}

Link::Transfer ThreadsLink::receive(Channel channel, int from, int tag, std::span<std::byte> bytes) {
  const Transfer transfer = ++transfers_;
  posted_[{channel, hosts_[static_cast<size_t>(from)], tag}].push_back({transfer, bytes});
  return transfer;
}

bool ThreadsLink::cancel(Transfer receive) {
  for (auto& [route, posted] : posted_)
    if (std::erase_if(posted, [&](const Posted& each) { return each.transfer == receive; }) > 0) return true;
  return false;
}

void ThreadsLink::poll(std::vector<Transfer>& done) {
  std::vector<Message> arrived;
  {
    Mailbox& own = hub_->of(host_);
    const std::lock_guard lock(own.mutex);
    arrived.swap(own.arrived);
    done.insert(done.end(), own.sent.begin(), own.sent.end());
    own.sent.clear();
  }
  for (const Message& message : arrived)
    if (message.shrunk == shrunk_) unexpected_[message.route].push_back(message);
  for (auto& [route, messages] : unexpected_) {
    std::vector<Posted>& posted = posted_[route];
    const size_t matched = std::min(messages.size(), posted.size());
    for (size_t i = 0; i < matched; ++i) deliver(messages[i], posted[i], done);
    messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(matched));
    posted.erase(posted.begin(), posted.begin() + static_cast<std::ptrdiff_t>(matched));
  }
  for (const int host : hosts_) {
    Mailbox& box = hub_->of(host);
    const std::lock_guard lock(box.mutex);
    if (box.state == Mailbox::State::gone) throw Error("HOST_LOST", "host " + std::to_string(host) + ": it has gone");
  }
}

int ThreadsLink::rank() const { return static_cast<int>(std::ranges::find(hosts_, host_) - hosts_.begin()); }

// Waits until each of the others has given up its transfers too, or has gone.
std::vector<int> ThreadsLink::shrink() {
  if (!shrinks_) return {};
  posted_.clear();
  unexpected_.clear();
  ++shrunk_;
  {
    Mailbox& own = hub_->of(host_);
    const std::lock_guard lock(own.mutex);
    own.shrunk = shrunk_;
    own.sent.clear();
  }
  std::vector<int> survivors;
  while (survivors.empty()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const std::lock_guard lock(hub_->mutex);
    // The first one that sees all others there decides for all: a further host that goes now is lost to the shrunk link.
    std::vector<int>& decided = hub_->survivors[shrunk_];
    if (decided.empty()) decided = survivors_now();
    survivors = decided;
  }
  std::vector<int> former;
  for (const int host : survivors) former.push_back(static_cast<int>(std::ranges::find(hosts_, host) - hosts_.begin()));
  hosts_ = survivors;
  return former;
}

std::vector<int> ThreadsLink::survivors_now() {
  std::vector<int> survivors;
  for (const int host : hosts_) {
    Mailbox& box = hub_->of(host);
    const std::lock_guard lock(box.mutex);
    if (box.state == Mailbox::State::ended || box.state == Mailbox::State::gone) continue;
    if (box.state == Mailbox::State::expected || box.shrunk < shrunk_) return {};
    survivors.push_back(host);
  }
  return survivors;
}

void ThreadsLink::deliver(const Message& message, const Posted& posted, std::vector<Transfer>& done) {
  Mailbox& sender = hub_->of(std::get<1>(message.route));
  const std::lock_guard lock(sender.mutex);
  if (sender.state != Mailbox::State::open || sender.cut_off || sender.shrunk != message.shrunk) return;
  if (message.bytes.size() > posted.bytes.size())
    throw Error("INTERNAL", "hosts: a message of " + std::to_string(message.bytes.size()) + " bytes came where " +
                                std::to_string(posted.bytes.size()) + " were expected");
  if (!message.bytes.empty()) std::memcpy(posted.bytes.data(), message.bytes.data(), message.bytes.size());
  sender.sent.push_back(message.transfer);
  done.push_back(posted.transfer);
}

void ThreadsLink::end() {
  Mailbox& own = hub_->of(host_);
  const std::lock_guard lock(own.mutex);
  own.state = Mailbox::State::ended;
}

void ThreadsLink::abort(int) noexcept {
  Mailbox& own = hub_->of(host_);
  const std::lock_guard lock(own.mutex);
  own.state = Mailbox::State::gone;
}

void ThreadsLink::cut_off(const std::string& name, int rank) {
  Mailbox& box = hub_of(name, 0)->of(rank);
  const std::lock_guard lock(box.mutex);
  box.cut_off = true;
}

}  // namespace arbalest
