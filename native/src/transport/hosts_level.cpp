#include "transport/hosts_level.h"

#include <algorithm>
#include <numeric>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};
// Of a level; on the channel of data and on that of words.
constexpr int kPieces = 0, kSums = 1, kCounts = 0;
// Vector instructions work on whole ones.
constexpr size_t kLineElements = 16;

// Below the length from which Open MPI announces a message over TCP, 64 KiB with its header, and that of most MPI libraries.
constexpr size_t kPieceBytes = 60 << 10;

// As even as whole lines allow. A bucket shorter than a line a host leaves some owners without a chunk.
std::vector<Bucket> chunks_of(const Bucket& bucket, size_t hosts) {
  const size_t lines = (bucket.end - bucket.begin + kLineElements - 1) / kLineElements;
  std::vector<Bucket> chunks;
  size_t begin = bucket.begin;
  for (size_t host = 0; host < hosts; ++host) {
    const size_t end = std::min(bucket.begin + lines * (host + 1) / hosts * kLineElements, bucket.end);
    chunks.push_back({begin, end});
    begin = end;
  }
  return chunks;
}

template <class Number> std::span<std::byte> bytes_of(Number& number) { return std::as_writable_bytes(std::span(&number, 1)); }

size_t end_of(std::span<const Bucket> buckets) {
  size_t end = 0;
  for (const Bucket& bucket : buckets) end = std::max(end, bucket.end);
  return end;
}

}  // namespace

HostsLevel::HostsLevel(Backend& backend, std::shared_ptr<HostsThread> hosts, int number, Type type, std::span<const Bucket> buckets)
    : Level(backend, 1),
      hosts_(std::move(hosts)),
      passes_(backend),
      type_(type),
      element_(size_of(type)),
      tag_(HostsThread::tag_of_group(number)),
      sum_(backend, end_of(buckets) * element_) {
  const auto count = static_cast<size_t>(hosts_->size());
  for (const Bucket& bucket : buckets) {
    Exchange& exchange = exchanges_.emplace_back();
    exchange.counts.assign(count, 0);
    for (const Bucket& chunk : chunks_of(bucket, count)) {
      std::deque<Piece>& pieces = exchange.chunks.emplace_back();
      for (size_t begin = chunk.begin; begin < chunk.end; begin += kPieceBytes / element_)
        pieces.push_back({{begin, std::min(begin + kPieceBytes / element_, chunk.end)}});
    }
    exchange.received.resize(count);
    const std::deque<Piece>& own = own_chunk(exchange);
    if (own.empty()) continue;
    for (const size_t host : others())
      exchange.received[host] = Memory(backend, (own.back().range.end - own.front().range.begin) * element_);
  }
  hosts_->on_change(this, [this] { wake(); });
  for (Exchange& exchange : exchanges_) {
    expect_counts(exchange);
    for (Piece& piece : own_chunk(exchange)) expect(exchange, piece);
  }
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
    exchange.own = part.vector;
    exchange.own_count = part.learners;
    exchange.is_counted = false;
    exchange.summed = 0;
    unsummed_.push_back(&exchange);
  }
  // The owners' sums are expected before the pieces go that they are made of.
  for (const size_t host : others()) {
    for (const Piece& piece : exchange.chunks[host])
      receive(exchange.under_way, Channel::data, host, tag_ + kSums, part_of(sum_.data(), piece.range));
    send(exchange, Channel::words, host, tag_ + kCounts, bytes_of(exchange.own_count));
  }
  const bool brings = part.learners > 0;
  size_t most = 0;
  for (const auto& chunk : exchange.chunks) most = std::max(most, chunk.size());
  for (size_t i = 0; i < most; ++i)
    for (const size_t host : others())
      if (i < exchange.chunks[host].size())
        send(exchange, Channel::data, host, tag_ + kPieces,
             brings ? part_of(const_cast<std::byte*>(part.vector), exchange.chunks[host][i].range) : std::span<std::byte>());
  auto request = std::make_unique<Request>();
  request->reduction = std::move(reduction);
  return request;
}

bool HostsLevel::wait(Request& request, const std::atomic<bool>& called) {
  BucketReduction& reduction = request.reduction;
  Exchange& exchange = exchanges_[reduction.bucket];
  std::unique_lock lock(mutex_);
  while (!is_summed(exchange) || exchange.under_way > 0) {
    if (const std::exception_ptr failure = hosts_->failure()) std::rethrow_exception(failure);
    if (!unsummed_.empty() && is_ready(*unsummed_.front())) {
      Exchange& next = *unsummed_.front();
      lock.unlock();
      sum_next(next);
      lock.lock();
      if (is_summed(next)) unsummed_.pop_front();
      continue;
    }
    if (called) return false;
    changed_.wait_for(lock, kSlice, [&] { return called || called_; });
    called_ = false;
  }
  reduction.parts = {exchange.total > 0 ? PartialSum{sum_.data(), exchange.total} : PartialSum{}};
  return true;
}

std::vector<size_t> HostsLevel::others() const {
  const auto own = static_cast<size_t>(hosts_->rank()), count = static_cast<size_t>(hosts_->size());
  std::vector<size_t> others;
  for (size_t i = 1; i < count; ++i) others.push_back((own + i) % count);
  return others;
}

void HostsLevel::expect_counts(Exchange& exchange) {
  for (const size_t host : others())
    receive(exchange.missing_counts, Channel::words, host, tag_ + kCounts, bytes_of(exchange.counts[host]));
}

void HostsLevel::expect(Exchange& exchange, Piece& piece) {
  const size_t bytes = (piece.range.end - piece.range.begin) * element_;
  for (const size_t host : others())
    receive(piece.missing, Channel::data, host, tag_ + kPieces, {received_from(exchange, host, piece), bytes});
}

bool HostsLevel::is_summed(Exchange& exchange) const { return exchange.is_counted && exchange.summed == own_chunk(exchange).size(); }

bool HostsLevel::is_ready(Exchange& exchange) const {
  return exchange.is_counted ? own_chunk(exchange)[exchange.summed].missing == 0 : exchange.missing_counts == 0;
}

void HostsLevel::sum_next(Exchange& exchange) {
  if (exchange.is_counted) {
    sum(exchange, own_chunk(exchange)[exchange.summed]);
  } else {
    exchange.counts[static_cast<size_t>(rank())] = exchange.own_count;
    exchange.total = std::accumulate(exchange.counts.begin(), exchange.counts.end(), int64_t{0});
    exchange.contributors.clear();
    for (size_t host = 0; host < exchange.counts.size(); ++host)
      if (exchange.counts[host] > 0) exchange.contributors.push_back(host);
    expect_counts(exchange);
  }
  const std::lock_guard lock(mutex_);
  exchange.summed += exchange.is_counted;
  exchange.is_counted = true;
}

void HostsLevel::sum(Exchange& exchange, Piece& piece) {
  const std::span<std::byte> to = part_of(sum_.data(), piece.range);
  std::vector<const void*> summands;
  for (const size_t host : exchange.contributors)
    summands.push_back(host == static_cast<size_t>(rank()) ? exchange.own + piece.range.begin * element_
                                                           : received_from(exchange, host, piece));
  const size_t length = piece.range.end - piece.range.begin, pass = std::min(passes_.piece(), length);
  for (size_t begin = 0; begin < length && exchange.total > 0; begin += pass)
    passes_.average({type_, begin, std::min(begin + pass, length), nullptr, to.data(), summands, 1, 0});
  expect(exchange, piece);
  for (const size_t host : others()) send(exchange, Channel::data, host, tag_ + kSums, exchange.total > 0 ? to : std::span<std::byte>());
}

void HostsLevel::send(Exchange& exchange, Channel channel, size_t to, int tag, std::span<const std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++exchange.under_way;
  }
  hosts_->send(this, channel, static_cast<int>(to), tag, bytes, [this, &exchange] { arrive(exchange.under_way); });
}

void HostsLevel::receive(int& left, Channel channel, size_t from, int tag, std::span<std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++left;
  }
  hosts_->receive(this, channel, static_cast<int>(from), tag, bytes, [this, &left] { arrive(left); });
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

std::byte* HostsLevel::received_from(Exchange& exchange, size_t host, const Piece& piece) const {
  return exchange.received[host].data() + (piece.range.begin - own_chunk(exchange).front().range.begin) * element_;
}

}  // namespace arbalest
