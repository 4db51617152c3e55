// Which host sums which part of a bucket: made by src/hosts/exchange/plan.ts, the same on all hosts.
#pragma once

#include <span>
#include <vector>

#include "core/buckets.h"

namespace arbalest {

// A range of the parameters that goes in one message, and the host that sums it: its owner.
struct ExchangeChunk {
  Bucket range;
  int host = 0;
};

// The chunks of each bucket. Throws INVALID_OPTION where they do not fill the buckets in their order, or belong to none of the hosts.
std::vector<std::vector<ExchangeChunk>> chunks_by_bucket(std::span<const ExchangeChunk> chunks, std::span<const Bucket> buckets, int hosts);

// The same chunks, those of lost hosts dealt out among the others: each to the one that has the fewest elements of the bucket so far.
void deal_out(std::span<ExchangeChunk> chunks, std::span<const int> hosts);

}  // namespace arbalest
