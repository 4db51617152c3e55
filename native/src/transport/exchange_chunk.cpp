#include "transport/exchange_chunk.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"

namespace arbalest {
namespace {

std::string range(const Bucket& range) { return std::to_string(range.begin) + " to " + std::to_string(range.end); }

std::string list(const std::vector<int>& hosts) {
  std::string text;
  for (const int host : hosts) text += (text.empty() ? "" : ", ") + std::to_string(host);
  return text;
}

size_t length(const ExchangeChunk& chunk) { return chunk.range.end - chunk.range.begin; }

void check_owners(const ExchangeChunk& chunk, const Racks& racks) {
  if (chunk.relays.size() + 1 != racks.size())
    throw Error("INVALID_OPTION", "chunks: received owners in " + std::to_string(chunk.relays.size() + 1) +
                                      " racks; give one in each of the " + std::to_string(racks.size()));
  for (size_t rack = 0; rack < racks.size(); ++rack)
    if (std::ranges::count(racks[rack], owner_in(chunk, rack)) == 0)
      throw Error("INVALID_OPTION", "chunks: received the host " + std::to_string(owner_in(chunk, rack)) + "; give one of " +
                                        list(racks[rack]) + (racks.size() > 1 ? ", which are in rack " + std::to_string(rack) : ""));
}

}  // namespace

Racks checked_racks(Racks racks, int hosts) {
  std::vector<int> all(static_cast<size_t>(hosts));
  std::iota(all.begin(), all.end(), 0);
  if (racks.empty()) return {all};
  std::vector<int> given;
  for (const std::vector<int>& rack : racks) given.insert(given.end(), rack.begin(), rack.end());
  if (given != all || std::ranges::any_of(racks, &std::vector<int>::empty))
    throw Error("INVALID_OPTION", "racks: received " + list(given) + "; give the hosts from 0 to " + std::to_string(hosts - 1) +
                                      " in their order, each once");
  return racks;
}

int owner_in(const ExchangeChunk& chunk, size_t rack) { return rack < chunk.relays.size() ? chunk.relays[rack] : chunk.host; }

std::vector<std::vector<ExchangeChunk>> chunks_by_bucket(std::span<const ExchangeChunk> chunks, std::span<const Bucket> buckets,
                                                         const Racks& racks) {
  std::vector<std::vector<ExchangeChunk>> result;
  auto chunk = chunks.begin();
  for (const Bucket& bucket : buckets) {
    std::vector<ExchangeChunk>& own = result.emplace_back();
    for (size_t at = bucket.begin; at < bucket.end; at = own.back().range.end) {
      if (chunk == chunks.end() || chunk->range.begin != at || chunk->range.end <= at || chunk->range.end > bucket.end)
        throw Error("INVALID_OPTION", "chunks: " + (chunk == chunks.end() ? "received none" : "received " + range(chunk->range)) +
                                          " where the elements from " + std::to_string(at) + " of the bucket from " + range(bucket) +
                                          " are next; give chunks that fill the buckets in their order");
      check_owners(*chunk, racks);
      own.push_back(*chunk++);
    }
  }
  if (chunk != chunks.end())
    throw Error("INVALID_OPTION", "chunks: received " + range(chunk->range) + " behind the last bucket; leave it out");
  return result;
}

void deal_out(std::span<ExchangeChunk> chunks, const Racks& racks) {
  std::vector<std::vector<int>> owners(chunks.size());
  for (size_t rack = 0; rack < racks.size(); ++rack) {
    std::map<int, size_t> load;
    for (const int host : racks[rack]) load[host] = 0;
    if (load.empty()) continue;
    for (const ExchangeChunk& chunk : chunks)
      if (const auto found = load.find(owner_in(chunk, rack)); found != load.end()) found->second += length(chunk);
    for (size_t i = 0; i < chunks.size(); ++i) {
      int owner = owner_in(chunks[i], rack);
      if (!load.contains(owner)) {
        const auto least = std::ranges::min_element(load, {}, [](const auto& each) { return each.second; });
        owner = least->first;
        least->second += length(chunks[i]);
      }
      owners[i].push_back(owner);
    }
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].host = owners[i].back();
    owners[i].pop_back();
    chunks[i].relays = std::move(owners[i]);
  }
}

}  // namespace arbalest
