// How the hosts that are left go on after the loss of one: they agree on who they are, and their clients exchange their states.
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/hosts_thread.h"

namespace arbalest {
namespace {

// On the control channel; those below are of beats and of HostMessages.
constexpr int kStateLengthTag = 4, kStateTag = 5;

// What the link tells of a loss begins with the host that it has noticed, or with "hosts".
std::string loss_of_host(int host, const std::string& told) {
  const std::string name = "host " + std::to_string(host) + ": ", all = "hosts: ";
  if (told.starts_with(name)) return told;
  return name + (told.starts_with(all) ? told.substr(all.size()) : told);
}

}  // namespace

void HostsThread::recover() {
  // A client that comes meanwhile begins among those that are left.
  std::vector<Listener> clients;
  std::optional<std::map<uint64_t, std::map<int, Bytes>>> states;
  while (!states) {
    const std::string reason = *std::exchange(loss_, std::nullopt);
    const std::vector<int> former = link_->shrink();
    if (former.empty()) throw Error("HOST_LOST", reason);
    under_way_.clear();
    under_way_by_urgency_ = {};
    take_survivors(former, reason);
    clients = listeners();
    states = all_states(states_of(clients));
  }
  for (const Listener& each : clients) each.recovery.go_on((*states)[each.recovery.key]);
  for (const int rank : others()) {
    peers_[static_cast<size_t>(rank)] = {};
    expect_beat(rank);
  }
  beat();
  last_turn_ = Clock::now();
  eager_ = kEagerPolls;
  tell_change();
}

void HostsThread::take_survivors(const std::vector<int>& former, const std::string& reason) {
  std::vector<int> now(link_ranks_.size(), -1);
  for (size_t host = 0; host < link_ranks_.size(); ++host) {
    const auto found = std::ranges::find(former, link_ranks_[host]);
    if (link_ranks_[host] >= 0 && found != former.end()) now[host] = static_cast<int>(found - former.begin());
  }
  link_ranks_ = std::move(now);
  const std::lock_guard lock(mutex_);
  for (int host = 0; host < size_; ++host)
    if (link_ranks_[static_cast<size_t>(host)] < 0) lost_.emplace(host, loss_of_host(host, reason));
}

HostsThread::Bytes HostsThread::states_of(const std::vector<Listener>& clients) {
  Bytes all;
  const auto append = [&](const void* from, size_t bytes) {
    all.resize(all.size() + bytes);
    std::memcpy(all.data() + all.size() - bytes, from, bytes);
  };
  for (const Listener& each : clients) {
    const Bytes state = each.recovery.state();
    const uint64_t header[] = {each.recovery.key, state.size()};
    append(header, sizeof header);
    if (!state.empty()) append(state.data(), state.size());
  }
  // Those that came before their clients paused.
  const std::lock_guard lock(mutex_);
  std::erase_if(orders_, [&](const Order& order) { return std::ranges::count(clients, order.client, &Listener::client) > 0; });
  return all;
}

std::optional<std::map<uint64_t, std::map<int, HostsThread::Bytes>>> HostsThread::all_states(Bytes own) {
  const std::vector<int> others = this->others();
  states_ = {};
  states_.own = std::move(own);
  states_.own_length = states_.own.size();
  bool have_come = false;
  ask_link([&] {
    std::vector<Link::Transfer> transfers;
    for (const int host : others) {
      const int rank = link_ranks_[static_cast<size_t>(host)];
      const auto length = std::as_writable_bytes(std::span(&states_.lengths[host], 1));
      transfers.push_back(link_->receive(Channel::control, rank, kStateLengthTag, length));
      transfers.push_back(link_->send(Channel::control, rank, kStateLengthTag, std::as_bytes(std::span(&states_.own_length, 1))));
    }
    if (!wait_for(std::exchange(transfers, {}))) return;
    for (const int host : others) {
      const int rank = link_ranks_[static_cast<size_t>(host)];
      Bytes& state = states_.others[host];
      state.resize(states_.lengths[host]);
      transfers.push_back(link_->receive(Channel::control, rank, kStateTag, state));
      transfers.push_back(link_->send(Channel::control, rank, kStateTag, states_.own));
    }
    have_come = wait_for(std::move(transfers));
  });
  if (loss_) return std::nullopt;
  // One of them is there, and silent: to shrink would not leave it out, but wait for it.
  if (!have_come)
    throw Error("HOST_LOST",
                "hosts: those that are left have not agreed on how to go on within " + std::to_string(static_cast<int>(deadline_)) + " s");
  States come = std::exchange(states_, {});
  come.others[rank_] = std::move(come.own);
  std::map<uint64_t, std::map<int, Bytes>> states;
  for (const auto& [host, bytes] : come.others)
    for (size_t at = 0; at < bytes.size();) {
      uint64_t header[2];
      std::memcpy(header, bytes.data() + at, sizeof header);
      at += sizeof header;
      states[header[0]][host].assign(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(at + header[1]));
      at += header[1];
    }
  return states;
}

bool HostsThread::wait_for(std::vector<Link::Transfer> transfers) {
  const Clock::time_point begin = Clock::now();
  while (!transfers.empty() && seconds_since(begin) < deadline_) {
    std::vector<Link::Transfer> done;
    link_->poll(done);
    for (const Link::Transfer each : done) std::erase(transfers, each);
    std::this_thread::sleep_for(kShortestPause);
  }
  return transfers.empty();
}

}  // namespace arbalest
