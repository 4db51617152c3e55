#include "transport/make_levels.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "transport/collective_level.h"
#include "transport/device_level.h"
#include "transport/host_gather.h"
#include "transport/hosts_level.h"
#include "transport/loopback_level.h"

namespace arbalest {
namespace {

using Kind = LevelSpec::Kind;

// Of the devices of one host, or of all.
std::unique_ptr<Level> make_collective_level(Backend& backend, const LevelSpec& spec, Type type, size_t bytes, int devices) {
  const auto gather = [&](Channel channel) {
    const int tag = HostsThread::tag_of_group(spec.number);
    return spec.kind == Kind::hosts ? std::make_unique<HostGather>(spec.hosts, channel, tag) : nullptr;
  };
  return std::make_unique<CollectiveLevel>(backend, backend.collective(devices, gather(Channel::data)), gather(Channel::urgent), type,
                                           bytes, devices);
}

// All of its ranks take part, until set_ranks() says otherwise.
std::unique_ptr<Level> make_level(Backend& backend, const LevelSpec& spec, Type type, size_t bytes, int parts,
                                  std::span<const Bucket> buckets, ChunkRule* rule = nullptr) {
  std::unique_ptr<Level> level;
  if (spec.kind == Kind::loopback)
    level = std::make_unique<LoopbackLevel>(backend, type, bytes, parts, spec.link);
  else if (backend.capabilities().own_memory)
    level = make_collective_level(backend, spec, type, bytes, parts);
  else if (spec.kind == Kind::hosts)
    level = std::make_unique<HostsLevel>(backend, spec.hosts, spec.number, type, buckets, spec.chunks, spec.owners_apply ? rule : nullptr,
                                         spec.racks, spec.by_arrival);
  else
    level = std::make_unique<DeviceLevel>(backend, type, bytes, parts);
  std::vector<int> all(static_cast<size_t>(level->size()));
  std::iota(all.begin(), all.end(), 0);
  level->set_ranks(0, std::move(all));
  return level;
}

}  // namespace

void check_devices(Backend& backend, int devices) {
  const int most = backend.device_count();
  if (devices >= 1 && devices <= most) return;
  const std::string received = "devices: received " + std::to_string(devices) + "; ";
  if (devices < 1 || most == kMostDevices) throw Error("INVALID_OPTION", received + "give 1 to " + std::to_string(most));
  throw Error("INVALID_OPTION", received + "the backend has " + std::to_string(most) + " here: give at most as many");
}

void check_levels(Backend& backend, int devices, std::span<const LevelSpec> levels) {
  check_devices(backend, devices);
  const auto of = [&](Kind kind) { return std::ranges::count(levels, kind, &LevelSpec::kind); };
  if (of(Kind::devices) != (devices > 1 ? 1 : 0))
    throw Error("INVALID_OPTION", "levels: received " + std::to_string(of(Kind::devices)) + " of devices with " + std::to_string(devices) +
                                      " of them; " + (devices > 1 ? "give one" : "leave it out"));
  const auto hosts = of(Kind::loopback) + of(Kind::hosts);
  if (hosts > 1) throw Error("INVALID_OPTION", "levels: received " + std::to_string(hosts) + " of hosts; give one at most");
  if (of(Kind::hosts) == 0) return;
  if (levels.back().kind != Kind::hosts)
    throw Error("INVALID_OPTION", "levels: received that of devices after that of hosts; give the one of hosts last");
  if (levels.back().owners_apply && backend.capabilities().own_memory)
    throw Error("INVALID_OPTION",
                "levels: received owners that apply the rule, on devices with memories of their own; let every host apply it");
  if (levels.back().by_arrival && (backend.capabilities().own_memory || levels.back().racks.size() > 1))
    throw Error("INVALID_OPTION", "order: received arrival with racks, or on devices with memories of their own; leave it out");
  if (levels.back().racks.size() > 1 && backend.capabilities().own_memory)
    throw Error("INVALID_OPTION",
                "racks: received " + std::to_string(levels.back().racks.size()) +
                    " on devices with memories of their own, whose collective chooses its ways by itself; leave them out");
}

std::vector<std::unique_ptr<Level>> make_levels(Backend& backend, int devices, std::span<const LevelSpec> specs, Type type, size_t bytes,
                                                std::span<const Bucket> buckets, ChunkRule* rule) {
  std::vector<std::unique_ptr<Level>> levels;
  int parts = devices;
  for (const LevelSpec& spec : specs) {
    // One collective has the devices of all hosts.
    if (spec.kind == Kind::devices && backend.capabilities().own_memory && specs.back().kind == Kind::hosts) continue;
    levels.push_back(make_level(backend, spec, type, bytes, parts, buckets, rule));
    // Devices that share one memory bring a part each and take one sum for all.
    if (spec.kind == Kind::devices && levels.back()->streams().devices() == 1) parts = 1;
  }
  return levels;
}

std::vector<double> time_level(Backend& backend, const LevelSpec& spec, int parts, size_t bytes, int turns) {
  check_devices(backend, std::max(parts, 1));
  const std::vector<Bucket> buckets = level_buckets(bytes / size_of(Type::f32), Type::f32, kOfThreads);
  const std::unique_ptr<Level> level = make_level(backend, spec, Type::f32, bytes, std::max(parts, 1), buckets);
  std::vector<Memory> vectors;
  std::vector<PartialSum> sums;
  for (int part = 0; part < parts; ++part) {
    Backend& own = backend.device(part);
    vectors.emplace_back(own, bytes);
    // The system provides memory when it is first written to.
    own.write(vectors.back().data(), std::vector<std::byte>(bytes).data(), bytes);
    sums.push_back({vectors.back().data(), 1});
  }
  if (parts == 0) sums.emplace_back();
  const std::atomic<bool> given_up{false};
  std::vector<double> seconds;
  for (int turn = 0; turn < turns; ++turn) {
    const Clock::time_point start = Clock::now();
    std::vector<std::unique_ptr<Level::Request>> requests;
    for (size_t bucket = 0; bucket < buckets.size(); ++bucket) requests.push_back(level->start({turn, bucket, buckets[bucket], sums}));
    for (const auto& request : requests) level->wait(*request, given_up);
    level->streams().synchronise();
    seconds.push_back(seconds_since(start));
  }
  return seconds;
}

}  // namespace arbalest
