// How a process meets the other hosts of its run, as src/engine/contract/hosts.ts defines it, and the object behind the handle.
#pragma once

#include <memory>
#include <string>

#include "binding/values.h"
#include "transport/host_messages.h"
#include "transport/link_probe.h"
#include "transport/threads_link.h"

namespace arbalest {

struct HostsObject {
  static constexpr char kKind[] = "link between hosts";
  explicit HostsObject(std::shared_ptr<HostsThread> link) : thread(std::move(link)), messages(*thread) {}

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

inline std::shared_ptr<HostsThread> hosts_thread(const Napi::Object& from) {
  const std::string kind = string(from, "kind");
  const double deadline = seconds(property(from, "deadline"), "deadline");
  if (kind == "mpi") {
    const int number = from.Has("number") ? small(property(from, "number"), "number") : 0;
    const int links = from.Has("links") ? small(property(from, "links"), "links") : 1;
    if (number >= links) throw Error("INVALID_OPTION", "number: received " + std::to_string(number) + "; give one below links");
    return std::make_shared<HostsThread>([=] { return open_mpi_link(number, links); }, deadline);
  }
  if (kind != "threads") throw Error("UNKNOWN_NAME", "hosts: received " + kind + "; use one of mpi, threads");
  const std::string name = string(from, "name");
  const int rank = small(property(from, "rank"), "rank"), size = small(property(from, "size"), "size");
  const bool shrinks = from.Has("shrinks") && from.Get("shrinks").ToBoolean();
  return std::make_shared<HostsThread>([=] { return std::make_unique<ThreadsLink>(name, rank, size, shrinks); }, deadline);
}

}  // namespace js
}  // namespace arbalest
