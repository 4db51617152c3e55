#include "transport/hosts_level.h"

#include <algorithm>

namespace arbalest {
namespace {

constexpr std::chrono::milliseconds kSlice{10};
// Of a level; on the channel of data and on that of words.
constexpr int kPieces = 0, kSums = 1, kCounts = 0;
// Vector instructions work on whole ones.
constexpr size_t kLineElements = 16;

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
    exchange.chunks = chunks_of(bucket, count);
    exchange.counts.assign(count, 0);
    const Bucket& own = exchange.chunks[static_cast<size_t>(rank())];
    for (size_t host = 0; host < count; ++host)
      exchange.pieces.push_back(is_own(host) || own.begin == own.end ? Memory() : Memory(backend, (own.end - own.begin) * element_));
  }
  hosts_->on_failure(this, [this] { wake(); });
  for (Exchange& exchange : exchanges_) expect(exchange);
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
    exchange.summed = false;
    unsummed_.push_back(&exchange);
  }
  // The owners' sums are expected before the pieces go that they are made of.
  for (size_t host = 0; host < exchange.chunks.size(); ++host)
    if (!is_own(host))
      receive(exchange.under_way, Channel::data, static_cast<int>(host), tag_ + kSums, part_of(sum_.data(), exchange.chunks[host]));
  for (size_t host = 0; host < exchange.chunks.size(); ++host) {
    if (is_own(host)) continue;
    send(exchange, Channel::words, static_cast<int>(host), tag_ + kCounts, bytes_of(exchange.own_count));
    const bool brings = part.learners > 0;
    send(exchange, Channel::data, static_cast<int>(host), tag_ + kPieces,
         brings ? part_of(const_cast<std::byte*>(part.vector), exchange.chunks[host]) : std::span<std::byte>());
  }
  auto request = std::make_unique<Request>();
  request->reduction = std::move(reduction);
  return request;
}

bool HostsLevel::wait(Request& request, const std::atomic<bool>& called) {
  BucketReduction& reduction = request.reduction;
  const Exchange& exchange = exchanges_[reduction.bucket];
  std::unique_lock lock(mutex_);
  while (!exchange.summed || exchange.under_way > 0) {
    if (const std::exception_ptr failure = hosts_->failure()) std::rethrow_exception(failure);
    if (!unsummed_.empty() && unsummed_.front()->missing == 0) {
      Exchange& whole = *unsummed_.front();
      unsummed_.pop_front();
      lock.unlock();
      sum(whole);
      lock.lock();
      continue;
    }
    if (called) return false;
    changed_.wait_for(lock, kSlice, [&] { return called || called_; });
    called_ = false;
  }
  reduction.parts = {exchange.total > 0 ? PartialSum{sum_.data(), exchange.total} : PartialSum{}};
  return true;
}

void HostsLevel::expect(Exchange& exchange) {
  for (size_t host = 0; host < exchange.chunks.size(); ++host) {
    if (is_own(host)) continue;
    const Bucket& own = exchange.chunks[static_cast<size_t>(rank())];
    receive(exchange.missing, Channel::words, static_cast<int>(host), tag_ + kCounts, bytes_of(exchange.counts[host]));
    receive(exchange.missing, Channel::data, static_cast<int>(host), tag_ + kPieces,
            {exchange.pieces[host].data(), (own.end - own.begin) * element_});
  }
}

void HostsLevel::sum(Exchange& exchange) {
  const Bucket& own = exchange.chunks[static_cast<size_t>(rank())];
  const std::span<std::byte> to = part_of(sum_.data(), own);
  exchange.counts[static_cast<size_t>(rank())] = exchange.own_count;
  int64_t total = 0;
  std::vector<const void*> summands;
  for (size_t host = 0; host < exchange.counts.size(); ++host) {
    total += exchange.counts[host];
    if (exchange.counts[host] == 0) continue;
    summands.push_back(is_own(host) ? exchange.own + own.begin * element_ : exchange.pieces[host].data());
  }
  const size_t length = own.end - own.begin, piece = std::max<size_t>(std::min(passes_.piece(), length), 1);
  for (size_t begin = 0; begin < length && total > 0; begin += piece)
    passes_.average({type_, begin, std::min(begin + piece, length), nullptr, to.data(), summands, 1, 0});
  expect(exchange);
  for (size_t host = 0; host < exchange.chunks.size(); ++host)
    if (!is_own(host)) send(exchange, Channel::data, static_cast<int>(host), tag_ + kSums, total > 0 ? to : std::span<std::byte>());
  const std::lock_guard lock(mutex_);
  exchange.total = total;
  exchange.summed = true;
}

void HostsLevel::send(Exchange& exchange, Channel channel, int to, int tag, std::span<const std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++exchange.under_way;
  }
  hosts_->send(this, channel, to, tag, bytes, [this, &exchange] { arrive(exchange.under_way); });
}

void HostsLevel::receive(int& left, Channel channel, int from, int tag, std::span<std::byte> bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++left;
  }
  hosts_->receive(this, channel, from, tag, bytes, [this, &left] { arrive(left); });
}

void HostsLevel::arrive(int& left) {
  const std::lock_guard lock(mutex_);
  if (--left > 0) return;
  called_ = true;
  changed_.notify_one();
}

std::span<std::byte> HostsLevel::part_of(std::byte* vector, const Bucket& chunk) const {
  return {vector + chunk.begin * element_, (chunk.end - chunk.begin) * element_};
}

}  // namespace arbalest
