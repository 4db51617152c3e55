// How a process meets the other hosts of its run, as src/engine/contract/hosts.ts defines it, and the object behind the handle.
#pragma once

#include <memory>
#include <string>

#include "binding/values.h"
#include "transport/forging_link.h"
#include "transport/host_messages.h"
#include "transport/link_probe.h"
#include "transport/threads_link.h"

namespace arbalest {

struct HostsObject {
  static constexpr char kKind[] = "link between hosts";
  HostsObject(std::shared_ptr<HostsThread> link, std::shared_ptr<Refusals> refused)
      : refusals(std::move(refused)), thread(std::move(link)), messages(*thread) {}

  const std::shared_ptr<Refusals> refusals;  // null unless the link is sealed
  const std::shared_ptr<HostsThread> thread;
  HostMessages messages;
};

struct LinkProbeObject : LinkProbe {
  static constexpr char kKind[] = "measurement of links";
  using LinkProbe::LinkProbe;
};

namespace js {

inline double seconds(const Napi::Value& value, const char* name) {
  const double found = number(value, name);
  if (!(found > 0 && found <= 86400))
    throw Error("INVALID_OPTION", std::string(name) + ": received " + std::to_string(found) + "; give seconds above 0, at most a day");
  return found;
}

using OpenLink = std::function<std::unique_ptr<Link>()>;

// The links of this process on MPI, by their members.
inline LinkMembers link_members(const Napi::Object& from) {
  if (!from.Has("links")) return {{}};
  const auto members = [](const Napi::Value& each) {
    return list(each, "links", [](const Napi::Value& rank) { return small(rank, "links"); });
  };
  return list(property(from, "links"), "links", members);
}

inline OpenLink open_link(const Napi::Object& from) {
  const std::string kind = string(from, "kind");
  if (kind == "mpi") {
    const LinkMembers links = link_members(from);
    const int number = from.Has("number") ? small(property(from, "number"), "number") : 0;
    if (static_cast<size_t>(number) >= links.size())
      throw Error("INVALID_OPTION", "number: received " + std::to_string(number) + "; give one below the number of links");
    prepare_for_mpi();
    return [=] { return open_mpi_link(number, links); };
  }
  if (kind != "threads") throw Error("UNKNOWN_NAME", "hosts: received " + kind + "; use one of mpi, threads");
  const std::string name = string(from, "name");
  const int rank = small(property(from, "rank"), "rank"), size = small(property(from, "size"), "size");
  const bool shrinks = from.Has("shrinks") && from.Get("shrinks").ToBoolean();
  return [=] { return std::make_unique<ThreadsLink>(name, rank, size, shrinks); };
}

inline std::shared_ptr<HostsObject> hosts(const Napi::Object& from) {
  const double deadline = seconds(property(from, "deadline"), "deadline");
  const OpenLink open = open_link(from);
  if (!from.Has("sealed") || !from.Get("sealed").ToBoolean())
    return std::make_shared<HostsObject>(std::make_shared<HostsThread>(open, deadline), nullptr);
  const auto refusals = std::make_shared<Refusals>();
  const int forges = from.Has("forges") ? small(property(from, "forges"), "forges") : 0;
  const int at_once = from.Has("forgesAtOnce") ? small(property(from, "forgesAtOnce"), "forgesAtOnce") : 1 + forges / 100;
  const bool floods = from.Has("floods") && from.Get("floods").ToBoolean();
  const OpenLink sealed = [=]() -> std::unique_ptr<Link> {
    std::unique_ptr<Link> link = open();
    if (forges > 0) link = std::make_unique<ForgingLink>(std::move(link), forges, at_once, floods);
    return std::make_unique<SealedLink>(std::move(link), refusals);
  };
  return std::make_shared<HostsObject>(std::make_shared<HostsThread>(sealed, deadline), refusals);
}

}  // namespace js
}  // namespace arbalest
