// The levels between the learners of a device and the central model: made from their description, and measured.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/chunk_rule.h"
#include "transport/exchange_chunk.h"
#include "transport/hosts_thread.h"
#include "transport/level.h"
#include "transport/rated_link.h"

namespace arbalest {

struct LevelSpec {
  enum class Kind : uint8_t { devices, hosts, loopback };
  Kind kind = Kind::devices;
  std::shared_ptr<RatedLink> link = nullptr;     // of the loopback
  std::shared_ptr<HostsThread> hosts = nullptr;  // of hosts
  int number = 0;                                // of the group among those of the hosts
  std::vector<ExchangeChunk> chunks{};           // of the vector, for the hosts
  bool owners_apply = false;                     // the owners make the next central model of a chunk, and not only its sum
  Racks racks{};                                 // of the hosts; one if none are given
  bool by_arrival = false;                       // hosts sum in the order in which parts arrive, and not in that of ranks
};

// Throws INVALID_OPTION where the backend has fewer devices.
void check_devices(Backend& backend, int devices);

// Throws INVALID_OPTION where the levels, from the bottom, do not make one sum over all learners of the devices.
void check_levels(Backend& backend, int devices, std::span<const LevelSpec> levels);

// For vectors of `bytes`, in these buckets. `rule` is that of owners that apply it.
std::vector<std::unique_ptr<Level>> make_levels(Backend& backend, int devices, std::span<const LevelSpec> levels, Type type, size_t bytes,
                                                std::span<const Bucket> buckets, ChunkRule* rule);

// The seconds of each of some reductions, one after another, of `parts` partial sums of `bytes`, one a device, or none of a host that has
// no learners. Every host of the level calls it.
std::vector<double> time_level(Backend& backend, const LevelSpec& level, int parts, size_t bytes, int turns);

}  // namespace arbalest
