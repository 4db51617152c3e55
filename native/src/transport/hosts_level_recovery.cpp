// How a level of hosts goes on after the loss of one of them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/hosts_level.h"

namespace arbalest {

HostsThread::Bytes HostsLevel::state() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  changed_.wait(lock, [this] { return !is_summing_; });
  HostsThread::Bytes state(exchanges_.size() * sizeof(Standing));
  for (size_t bucket = 0; bucket < exchanges_.size(); ++bucket) {
    Exchange& exchange = exchanges_[bucket];
    if (is_finished(exchange)) exchange.finished = exchange.round;
    // Its sum was to come from another host.
    if (exchange.missing_sums > 0 && exchange.finished == exchange.round) exchange.finished = exchange.finished_before;
    const Standing standing{exchange.round, exchange.finished, exchange.total};
    std::memcpy(state.data() + bucket * sizeof standing, &standing, sizeof standing);
  }
  return state;
}

void HostsLevel::go_on(const std::map<int, HostsThread::Bytes>& states) {
  const std::lock_guard lock(mutex_);
  called_ = true;
  changed_.notify_all();
  if (rule_) {
    for (const size_t host : others_)
      if (hosts_->is_lost(static_cast<int>(host))) lost_ = hosts_->loss_of(static_cast<int>(host));
    return;
  }
  paused_ = false;
  unsummed_.clear();
  unrelayed_.clear();
  take_hosts();
  for (size_t bucket = 0; bucket < exchanges_.size(); ++bucket) {
    Exchange& exchange = exchanges_[bucket];
    exchange.missing_counts = exchange.missing_sums = exchange.sending = 0;
    catch_up(exchange, bucket, states);
  }
  for (Exchange& exchange : exchanges_) plan(exchange);
  begin_again();
}

// No host is in a later round than the one whose sum another has not got yet.
void HostsLevel::catch_up(Exchange& exchange, size_t bucket, const std::map<int, HostsThread::Bytes>& states) {
  std::map<int, Standing> standings;
  for (const auto& [host, state] : states) std::memcpy(&standings[host], state.data() + bucket * sizeof(Standing), sizeof(Standing));
  const auto furthest = std::ranges::max_element(standings, {}, [](const auto& each) { return each.second.finished; });
  const auto [source, best] = *furthest;
  const auto lacks = [&, round = best.finished](const Standing& each) { return each.finished < round && each.round == round; };
  const std::span<std::byte> sum = part_of(sum_.data(), exchange.range);
  if (source == rank()) {
    for (const auto& [host, standing] : standings)
      if (lacks(standing) && best.total > 0) send(exchange, Channel::data, static_cast<size_t>(host), tag_ + kSums, sum);
  } else if (lacks(standings.at(rank()))) {
    if (best.total > 0) receive(exchange.missing_sums, Channel::data, static_cast<size_t>(source), tag_ + kSums, sum);
    exchange.total = best.total;
    exchange.finished_before = std::exchange(exchange.finished, best.finished);
  }
}

// The buckets of a round are exchanged in their order, and receives are posted in that of their messages. So those whose sums begin anew
// come first. A bucket behind one of them that has its sum already is in the next round behind that one, too: it expects that round when
// the one before it has been summed.
void HostsLevel::begin_again() {
  const int64_t newest = std::ranges::max_element(exchanges_, {}, &Exchange::finished)->finished;
  const auto is_behind = [&](const Exchange& each) { return each.finished < newest; };
  const auto first_behind = std::ranges::find_if(exchanges_, is_behind);
  for (Exchange& each : exchanges_)
    if (is_behind(each)) expect_round(each);
  for (auto each = exchanges_.begin(); each != first_behind; ++each) expect_round(*each);
  for (Exchange& each : exchanges_) {
    const bool is_new = each.round > each.finished;
    each.is_counted = !is_new;
    each.summed = each.relayed = is_new ? 0 : own_chunks(each).size();
  }
  for (auto each = first_behind; each != exchanges_.end(); ++each) {
    each->is_to_expect = !is_behind(*each);
    if (each->is_to_expect)
      unsummed_.push_back(&*each);
    else if (each->round > each->finished)
      begin(*each);
  }
  for (auto each = exchanges_.begin(); each != first_behind; ++each)
    if (each->round > each->finished) begin(*each);
  expect_rounds();
}

}  // namespace arbalest
