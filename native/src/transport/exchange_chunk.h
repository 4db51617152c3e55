// Which hosts sum which part of a bucket: made by src/hosts/exchange/plan.ts, the same on all hosts.
#pragma once

#include <span>
#include <vector>

#include "core/buckets.h"

namespace arbalest {

// Hosts by rack, in the order in which their parts are summed.
using Racks = std::vector<std::vector<int>>;

// A range of the parameters that goes in one message, and the hosts that sum it: an owner in each rack.
struct ExchangeChunk {
  Bucket range;
  int host = 0;               // the owner in the last rack, which has the whole sum
  std::vector<int> relays{};  // those in the racks before it
};

// All hosts in one rack where none are given. Throws INVALID_OPTION where they are not the hosts from 0 on, each once and in order.
Racks checked_racks(Racks racks, int hosts);

int owner_in(const ExchangeChunk& chunk, size_t rack);

// The chunks of each bucket. Throws INVALID_OPTION where they do not fill the buckets in their order, or have no owner in one of the racks.
std::vector<std::vector<ExchangeChunk>> chunks_by_bucket(std::span<const ExchangeChunk> chunks, std::span<const Bucket> buckets,
                                                         const Racks& racks);

// The same chunks, those of lost hosts dealt out among the others of their rack: each to the one that has the fewest elements of the bucket
// so far. `racks` have the hosts that are left; chunks have no owners in empty ones.
void deal_out(std::span<ExchangeChunk> chunks, const Racks& racks);

}  // namespace arbalest
