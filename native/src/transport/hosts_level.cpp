#include "transport/hosts_level.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};
template <class Number> std::span<std::byte> bytes_of(Number& number) { return std::as_writable_bytes(std::span(&number, 1)); }

size_t end_of(std::span<const Bucket> buckets) {
  size_t end = 0;
  for (const Bucket& bucket : buckets) end = std::max(end, bucket.end);
  return end;
}

}  // namespace

HostsLevel::HostsLevel(Backend& backend, std::shared_ptr<HostsThread> hosts, int number, Type type, std::span<const Bucket> buckets,
                       std::span<const ExchangeChunk> chunks, ChunkRule* rule, Racks racks, bool by_arrival)
    : Level(backend, 1),
      hosts_(std::move(hosts)),
      backend_(backend),
      passes_(backend),
      type_(type),
      element_(size_of(type)),
      tag_(HostsThread::tag_of_group(number)),
      by_arrival_(by_arrival),
      rule_(rule),
      sum_(rule ? Memory() : Memory(backend, end_of(buckets) * element_)),
      racks_(checked_racks(std::move(racks), hosts_->size())) {
  const auto owners = chunks_by_bucket(chunks, buckets, racks_);
  const std::lock_guard lock(mutex_);
  hosts_->on_change(this, [this] { wake(); },
                    {HostsThread::key_of(Channel::data, tag_), [this] { return state(); }, [this](const auto& states) { go_on(states); }});
  for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    Exchange& exchange = exchanges_.emplace_back();
    exchange.range = buckets[bucket];
    exchange.owners = owners[bucket];
  }
  take_hosts();
  for (Exchange& exchange : exchanges_) plan(exchange);
  for (Exchange& exchange : exchanges_) expect_round(exchange);
}

void HostsLevel::take_hosts() {
  others_.clear();
  for (const int host : hosts_->others()) others_.push_back(static_cast<size_t>(host));
  for (std::vector<int>& rack : racks_) std::erase_if(rack, [this](int host) { return hosts_->is_lost(host); });
  for (Exchange& exchange : exchanges_) deal_out(exchange.owners, racks_);
  std::erase_if(racks_, [](const std::vector<int>& rack) { return rack.empty(); });
  const auto has = [](const std::vector<int>& rack, int host) { return std::ranges::count(rack, host) > 0; };
  const auto own = std::ranges::find_if(racks_, [&](const std::vector<int>& rack) { return has(rack, rank()); });
  rack_ = static_cast<size_t>(own - racks_.begin());
  neighbours_.clear();
  for (const size_t host : others_)
    if (has(*own, static_cast<int>(host))) neighbours_.push_back(host);
}

void HostsLevel::plan(Exchange& exchange) {
  const auto count = static_cast<size_t>(size());
  exchange.counts.assign(count, 0);
  exchange.chunks.assign(count, {});
  exchange.received.clear();
  exchange.received.resize(count);
  size_t own = 0;
  for (const ExchangeChunk& each : exchange.owners) {
    const int owner = owner_in(each, rack_);
    Chunk& chunk = exchange.chunks[static_cast<size_t>(owner)].emplace_back(Chunk{each.range, own});
    if (owner != rank()) continue;
    own += each.range.end - each.range.begin;
    if (rack_ > 0) chunk.before = owner_in(each, rack_ - 1);
    if (!is_last_rack()) chunk.after = owner_in(each, rack_ + 1);
  }
  const auto memory = [&](bool is_used) { return is_used && own > 0 ? Memory(backend_, own * element_) : Memory(); };
  for (const size_t host : neighbours_) exchange.received[host] = memory(true);
  exchange.before = memory(rack_ > 0);
  exchange.made = memory(by_arrival_ || !is_last_rack());
  exchange.is_to_expect = false;
}

HostsLevel::~HostsLevel() { end(); }

void HostsLevel::end() noexcept { hosts_->give_up(this); }

void HostsLevel::wake() {
  const std::lock_guard lock(mutex_);
  called_ = true;
  changed_.notify_one();
}

std::unique_ptr<Level::Request> HostsLevel::start(BucketReduction reduction) {
  Exchange& exchange = exchanges_[reduction.bucket];
  const PartialSum& part = reduction.parts.front();
  {
    const std::lock_guard lock(mutex_);
    exchange.round = reduction.round;
    exchange.own = part.vector;
    exchange.own_count = part.learners;
    exchange.is_counted = false;
    exchange.summed = exchange.relayed = 0;
    if (under_way_++ == 0) hosts_->await(this, true);
    if (!paused_) begin(exchange);
  }
  auto request = std::make_unique<Request>();
  request->reduction = std::move(reduction);
  return request;
}

void HostsLevel::begin(Exchange& exchange) {
  unsummed_.push_back(&exchange);
  // Sums are expected before the chunks go that they are made of.
  for (const size_t host : neighbours_)
    for (const Chunk& chunk : exchange.chunks[host])
      receive(exchange.missing_sums, Channel::data, host, tag_ + kSums, part_of(result(exchange.round), chunk.range));
  if (!is_last_rack()) {
    unrelayed_.push_back(&exchange);
    for (Chunk& chunk : own_chunks(exchange)) {
      chunk.has_result = false;
      ++exchange.missing_sums;
      hosts_->receive(this, Channel::data, chunk.after, tag_ + kSums, part_of(result(exchange.round), chunk.range),
                      [this, &exchange, &chunk] { relay(exchange, chunk); });
    }
  }
  for (const size_t host : others_) send(exchange, Channel::urgent, host, tag_ + kCounts, bytes_of(exchange.own_count));
  size_t most = 0;
  for (const auto& chunks : exchange.chunks) most = std::max(most, chunks.size());
  for (size_t i = 0; i < most; ++i)
    for (const size_t host : neighbours_)
      if (i < exchange.chunks[host].size())
        send(exchange, Channel::data, host, tag_ + kChunks,
             exchange.own_count > 0 ? part_of(const_cast<std::byte*>(exchange.own), exchange.chunks[host][i].range)
                                    : std::span<std::byte>());
}

bool HostsLevel::wait(Request& request, const std::atomic<bool>& called) {
  BucketReduction& reduction = request.reduction;
  Exchange& exchange = exchanges_[reduction.bucket];
  std::unique_lock lock(mutex_);
  while (paused_ || exchange.finished < reduction.round || exchange.missing_sums > 0 || exchange.sending > 0) {
    if (const std::exception_ptr failure = lost_ ? lost_ : hosts_->failure()) std::rethrow_exception(failure);
    if (!paused_ && is_finished(exchange) && exchange.finished < reduction.round) {
      exchange.finished = reduction.round;
      continue;
    }
    if (!paused_ && !unsummed_.empty() && (is_ready(*unsummed_.front()) || has_arrivals(*unsummed_.front()))) {
      Exchange& next = *unsummed_.front();
      const bool is_whole = is_ready(next);
      is_summing_ = true;
      lock.unlock();
      if (is_whole)
        sum_next(next);
      else
        add_arrivals(next, own_chunks(next)[next.summed]);
      lock.lock();
      is_summing_ = false;
      changed_.notify_all();
      if (is_summed(next)) {
        unsummed_.pop_front();
        expect_rounds();
      }
      continue;
    }
    if (called) return false;
    changed_.wait_for(lock, kSlice, [&] { return called || called_; });
    called_ = false;
  }
  if (--under_way_ == 0) hosts_->await(this, false);
  reduction.parts = {exchange.total > 0 ? PartialSum{result(exchange.round), exchange.total} : PartialSum{}};
  return true;
}

void HostsLevel::expect_round(Exchange& exchange) {
  expect_counts(exchange);
  for (Chunk& chunk : own_chunks(exchange)) expect(exchange, chunk);
}

void HostsLevel::expect_rounds() {
  while (!unsummed_.empty() && unsummed_.front()->is_to_expect) {
    expect_round(*unsummed_.front());
    unsummed_.front()->is_to_expect = false;
    unsummed_.pop_front();
  }
}

void HostsLevel::expect_counts(Exchange& exchange) {
  for (const size_t host : others_)
    foresee(exchange.missing_counts, Channel::urgent, host, tag_ + kCounts, bytes_of(exchange.counts[host]));
}

void HostsLevel::expect(Exchange& exchange, Chunk& chunk) {
  chunk.arrived.clear();
  chunk.has_partial = false;
  for (const size_t host : neighbours_) {
    ++chunk.missing;
    hosts_->foresee(this, Channel::data, static_cast<int>(host), tag_ + kChunks, place_of(exchange.received[host], chunk),
                    [this, &chunk, host] {
                      const std::lock_guard lock(mutex_);
                      chunk.arrived.push_back(host);
                      --chunk.missing;
                      if (chunk.missing > 0 && !by_arrival_) return;
                      called_ = true;
                      changed_.notify_one();
                    });
  }
  if (chunk.before != kNone)
    foresee(chunk.missing, Channel::data, static_cast<size_t>(chunk.before), tag_ + kChunks, place_of(exchange.before, chunk));
}

bool HostsLevel::is_summed(const Exchange& exchange) const {
  return exchange.is_counted && exchange.summed == exchange.chunks[static_cast<size_t>(hosts_->rank())].size();
}

bool HostsLevel::is_ready(Exchange& exchange) const {
  return exchange.is_counted ? own_chunks(exchange)[exchange.summed].missing == 0 : exchange.missing_counts == 0;
}

void HostsLevel::sum_next(Exchange& exchange) {
  if (exchange.is_counted) {
    sum(exchange, own_chunks(exchange)[exchange.summed]);
  } else {
    const std::lock_guard lock(mutex_);
    exchange.counts[static_cast<size_t>(rank())] = exchange.own_count;
    exchange.total = std::accumulate(exchange.counts.begin(), exchange.counts.end(), int64_t{0});
    exchange.contributors.clear();
    for (const int host : racks_[rack_])
      if (exchange.counts[static_cast<size_t>(host)] > 0) exchange.contributors.push_back(static_cast<size_t>(host));
    // The racks have the hosts in their order.
    const auto before = std::span(exchange.counts).first(static_cast<size_t>(racks_[rack_].front()));
    exchange.has_before = std::ranges::any_of(before, [](int64_t learners) { return learners > 0; });
    expect_counts(exchange);
  }
  const std::lock_guard lock(mutex_);
  exchange.summed += exchange.is_counted;
  exchange.is_counted = true;
}

bool HostsLevel::has_arrivals(Exchange& exchange) const {
  return by_arrival_ && exchange.is_counted && !own_chunks(exchange)[exchange.summed].arrived.empty();
}

std::vector<const void*> HostsLevel::summands_of(Exchange& exchange, Chunk& chunk) {
  std::vector<const void*> summands;
  const auto add = [&](const Memory& memory) { summands.push_back(place_of(memory, chunk).data() - chunk.range.begin * element_); };
  const auto contributes = [&](size_t host) { return std::ranges::count(exchange.contributors, host) > 0; };
  if (!by_arrival_) {
    if (exchange.has_before) add(exchange.before);
    for (const size_t host : exchange.contributors) {
      if (host == static_cast<size_t>(rank()))
        summands.push_back(exchange.own);
      else
        add(exchange.received[host]);
    }
    return summands;
  }
  if (chunk.has_partial)
    add(exchange.made);
  else if (contributes(static_cast<size_t>(rank())))
    summands.push_back(exchange.own);
  const std::lock_guard lock(mutex_);
  for (const size_t host : std::exchange(chunk.arrived, {}))
    if (contributes(host)) add(exchange.received[host]);
  return summands;
}

void HostsLevel::add_arrivals(Exchange& exchange, Chunk& chunk) {
  const auto& [begin, end] = chunk.range;
  const std::vector<const void*> summands = summands_of(exchange, chunk);
  if (summands.empty()) return;
  passes_.average({type_, begin, end, nullptr, place_of(exchange.made, chunk).data() - begin * element_, summands, 1, 0});
  chunk.has_partial = true;
}

void HostsLevel::sum(Exchange& exchange, Chunk& chunk) {
  const auto& [begin, end] = chunk.range;
  const std::vector<const void*> summands = summands_of(exchange, chunk);
  if (!is_last_rack()) {
    const std::span<const std::byte> found = sum_of_racks(exchange, chunk, summands);
    const std::lock_guard lock(mutex_);
    expect(exchange, chunk);
    return send(exchange, Channel::data, static_cast<size_t>(chunk.after), tag_ + kChunks, found);
  }
  const size_t pass = std::min(passes_.piece(), end - begin);
  for (size_t at = begin; at < end && has_result(exchange); at += pass)
    if (rule_)
      rule_->make(summands, exchange.total, at, std::min(at + pass, end));
    else
      passes_.average({type_, at, std::min(at + pass, end), nullptr, sum_.data(), summands, 1, 0});
  const std::lock_guard lock(mutex_);
  expect(exchange, chunk);
  send_result(exchange, chunk);
}

std::span<const std::byte> HostsLevel::sum_of_racks(Exchange& exchange, const Chunk& chunk, std::span<const void* const> summands) {
  const auto& [begin, end] = chunk.range;
  if (summands.empty()) return {};
  if (summands.size() == 1 && summands.front() == exchange.own) return part_of(const_cast<std::byte*>(exchange.own), chunk.range);
  const std::span<std::byte> made = place_of(exchange.made, chunk);
  passes_.average({type_, begin, end, nullptr, made.data() - begin * element_, summands, 1, 0});
  return made;
}

void HostsLevel::send_result(Exchange& exchange, const Chunk& chunk) {
  const auto found = has_result(exchange) ? part_of(result(exchange.round), chunk.range) : std::span<std::byte>();
  if (chunk.before != kNone) send(exchange, Channel::data, static_cast<size_t>(chunk.before), tag_ + kSums, found);
  for (const size_t host : neighbours_) send(exchange, Channel::data, host, tag_ + kSums, found);
}

void HostsLevel::relay(Exchange& exchange, Chunk& chunk) {
  {
    const std::lock_guard lock(mutex_);
    chunk.has_result = true;
    while (!unrelayed_.empty()) {
      Exchange& next = *unrelayed_.front();
      const std::deque<Chunk>& chunks = own_chunks(next);
      while (next.relayed < chunks.size() && chunks[next.relayed].has_result) send_result(next, chunks[next.relayed++]);
      if (next.relayed < chunks.size()) break;
      unrelayed_.pop_front();
    }
  }
  arrive(exchange.missing_sums);
}

void HostsLevel::send(Exchange& exchange, Channel channel, size_t to, int tag, std::span<const std::byte> bytes) {
  ++exchange.sending;
  hosts_->send(this, channel, static_cast<int>(to), tag, bytes, [this, &exchange] { arrive(exchange.sending); });
}

void HostsLevel::receive(int& left, Channel channel, size_t from, int tag, std::span<std::byte> bytes) {
  ++left;
  hosts_->receive(this, channel, static_cast<int>(from), tag, bytes, [this, &left] { arrive(left); });
}

void HostsLevel::foresee(int& left, Channel channel, size_t from, int tag, std::span<std::byte> bytes) {
  ++left;
  hosts_->foresee(this, channel, static_cast<int>(from), tag, bytes, [this, &left] { arrive(left); });
}

void HostsLevel::arrive(int& left) {
  const std::lock_guard lock(mutex_);
  if (--left > 0) return;
  called_ = true;
  changed_.notify_one();
}

std::span<std::byte> HostsLevel::part_of(std::byte* vector, const Bucket& range) const {
  return {vector + range.begin * element_, (range.end - range.begin) * element_};
}

std::span<std::byte> HostsLevel::place_of(const Memory& own, const Chunk& chunk) const {
  return {own.data() + chunk.place * element_, (chunk.range.end - chunk.range.begin) * element_};
}

}  // namespace arbalest
