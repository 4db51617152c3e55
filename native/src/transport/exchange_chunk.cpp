#include "transport/exchange_chunk.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/error.h"

namespace arbalest {
namespace {

std::string range(const Bucket& range) { return std::to_string(range.begin) + " to " + std::to_string(range.end); }

}  // namespace

std::vector<std::vector<ExchangeChunk>> chunks_by_bucket(std::span<const ExchangeChunk> chunks, std::span<const Bucket> buckets,
                                                         int hosts) {
  std::vector<std::vector<ExchangeChunk>> result;
  auto chunk = chunks.begin();
  for (const Bucket& bucket : buckets) {
    std::vector<ExchangeChunk>& own = result.emplace_back();
    for (size_t at = bucket.begin; at < bucket.end; at = own.back().range.end) {
      if (chunk == chunks.end() || chunk->range.begin != at || chunk->range.end <= at || chunk->range.end > bucket.end)
        throw Error("INVALID_OPTION", "chunks: " + (chunk == chunks.end() ? "received none" : "received " + range(chunk->range)) +
                                          " where the elements from " + std::to_string(at) + " of the bucket from " + range(bucket) +
                                          " are next; give chunks that fill the buckets in their order");
      if (chunk->host < 0 || chunk->host >= hosts)
        throw Error("INVALID_OPTION", "chunks: received the host " + std::to_string(chunk->host) + "; there are " + std::to_string(hosts) +
                                          ": give a number from 0 to below that");
      own.push_back(*chunk++);
    }
  }
  if (chunk != chunks.end())
    throw Error("INVALID_OPTION", "chunks: received " + range(chunk->range) + " behind the last bucket; leave it out");
  return result;
}

void deal_out(std::span<ExchangeChunk> chunks, std::span<const int> hosts) {
  std::map<int, size_t> load;
  for (const int host : hosts) load[host] = 0;
  for (const ExchangeChunk& chunk : chunks)
    if (const auto found = load.find(chunk.host); found != load.end()) found->second += chunk.range.end - chunk.range.begin;
  for (ExchangeChunk& chunk : chunks) {
    if (load.contains(chunk.host)) continue;
    const auto least = std::ranges::min_element(load, {}, [](const auto& each) { return each.second; });
    chunk.host = least->first;
    least->second += chunk.range.end - chunk.range.begin;
  }
}

}  // namespace arbalest
