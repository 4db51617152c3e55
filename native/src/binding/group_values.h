// A group's description from JavaScript, as src/engine/contract/groups.ts defines it.
#pragma once

#include <string>

#include "binding/hosts_values.h"
#include "binding/program_values.h"
#include "binding/values.h"
#include "core/handles.h"
#include "sync/rule.h"
#include "transport/rated_link.h"

namespace arbalest {

struct RatedLinkObject : RatedLink {
  static constexpr char kKind[] = "rated link";
  using RatedLink::RatedLink;
};

namespace js {

inline bool truth(const Napi::Object& from, const char* name) {
  const Napi::Value found = property(from, name);
  if (!found.IsBoolean()) wrong(name, "true or false");
  return found.As<Napi::Boolean>().Value();
}

// The most iterations of a period and samples of a batch, so that their products with the number of rounds do not overflow.
constexpr int64_t kLongest = int64_t{1} << 30;

// The most rounds by which a learner may be ahead: each takes memory of the size of the parameters.
constexpr int64_t kMostSlack = 64;

inline int64_t at_least(const Napi::Object& from, const char* name, int64_t least, int64_t most = int64_t{1} << 53) {
  const int64_t found = integer(from, name);
  if (found < least || found > most)
    throw Error("INVALID_OPTION", std::string(name) + ": received " + std::to_string(found) + "; give a whole number from " +
                                      std::to_string(least) + " to " + std::to_string(most));
  return found;
}

inline SynchronousRule synchronous_rule(const Napi::Object& from) {
  SynchronousRule rule;
  rule.period = at_least(from, "period", 1, kLongest);
  rule.from = at_least(from, "from", 0);
  rule.adopts = truth(from, "adopts");
  const auto is = [&](const char* name, const char* value) { return !property(from, name).IsUndefined() && string(from, name) == value; };
  rule.pushes_late = is("push", "late");
  rule.pulls_whole = is("pull", "whole");
  const Napi::Object central = object(property(from, "central"), "central");
  const std::string kind = string(central, "kind");
  if (kind == "sma") {
    if (const Napi::Value alpha = property(central, "alpha"); !alpha.IsNull()) rule.alpha = number(alpha, "alpha");
    rule.mu = number(central, "momentum");
    if (!property(central, "lockstep").IsUndefined()) rule.lockstep = truth(central, "lockstep");
  } else if (kind == "outer") {
    rule.central = CentralRule::outer;
    rule.rate = number(central, "learningRate");
    rule.momentum = number(central, "momentum");
    rule.nesterov = truth(central, "nesterov");
    rule.per_rate = truth(central, "perLearningRate");
  } else if (kind == "mean") {
    rule.central = CentralRule::mean;
    rule.mean_from = at_least(central, "from", 0);
  } else if (kind == "optimiser" || kind == "updates") {
    rule.central = kind == "updates" ? CentralRule::updates : CentralRule::optimiser;
    if (!rule.adopts || rule.period != 1)
      throw Error("INVALID_OPTION", "rule: with " + kind + " learners adopt the central model in every iteration");
    if (!property(central, "slack").IsUndefined()) rule.slack = at_least(central, "slack", 0, kMostSlack);
    if (!property(central, "latest").IsUndefined()) rule.latest = truth(central, "latest");
    if (!property(central, "readMyWrites").IsUndefined()) rule.read_my_writes = truth(central, "readMyWrites");
    if (rule.read_my_writes && rule.central != CentralRule::updates)
      throw Error("INVALID_OPTION",
                  "readMyWrites: received true where the group has the optimiser; learners have updates of their own under updates");
  } else {
    throw Error("UNKNOWN_NAME", "central: received " + kind + "; use one of sma, outer, mean, optimiser, updates");
  }
  return rule;
}

inline AsynchronousRule asynchronous_rule(const Napi::Object& from) {
  AsynchronousRule rule;
  rule.period = at_least(from, "period", 1, kLongest);
  if (const Napi::Value slack = property(from, "slack"); !slack.IsNull()) rule.slack = at_least(from, "slack", 0);
  const Napi::Object exchange = object(property(from, "exchange"), "exchange");
  const std::string kind = string(exchange, "kind");
  if (kind == "push") {
    rule.push = at_least(exchange, "push", 1, kLongest);
    rule.fetch = at_least(exchange, "fetch", 1, kLongest);
  } else if (kind == "inPlace") {
    rule.in_place = true;
  } else {
    throw Error("UNKNOWN_NAME", "exchange: received " + kind + "; use one of push, inPlace");
  }
  return rule;
}

// Samples, perhaps a part of one.
inline double samples(const Napi::Object& from, const char* name, double least) {
  const double found = number(from, name);
  if (!(found >= least)) {
    throw Error("INVALID_PROGRAM",
                std::string(name) + ": received " + std::to_string(found) + "; give a number of at least " + std::to_string(least));
  }
  return found;
}

inline EvaluationAverageSpec evaluation_average(const Napi::Object& from) {
  EvaluationAverageSpec average;
  average.from = samples(from, "from", 0);
  average.every = samples(from, "every", 1);
  const std::string kind = string(from, "kind");
  if (kind == "ema") {
    average.decay = number(from, "decay");
  } else if (kind == "swa") {
    average.kind = EvaluationAverageSpec::Kind::swa;
  } else if (kind == "lawa") {
    average.kind = EvaluationAverageSpec::Kind::lawa;
    average.window = at_least(from, "window", 1, 4096);
  } else {
    throw Error("UNKNOWN_NAME", "average: received " + kind + "; use one of ema, swa, lawa");
  }
  return average;
}

// In seconds.
inline double latency(const Napi::Object& from) {
  const double received = number(from, "latency");
  if (!(received >= 0 && received <= 60))
    throw Error("INVALID_OPTION", "latency: received " + std::to_string(received) + "; give seconds from 0 to 60");
  return received;
}

inline int rank(const Napi::Value& value) { return small(value, "host"); }

inline ExchangeChunk exchange_chunk(const Napi::Value& value) {
  const Napi::Object from = object(value, "chunk");
  ExchangeChunk chunk{{size(from, "begin"), size(from, "end")}, small(property(from, "host"), "host")};
  if (const Napi::Value relays = property(from, "relays"); !relays.IsUndefined()) chunk.relays = list(relays, "relays", rank);
  return chunk;
}

inline bool is_at_owners(const std::string& place) {
  if (place != "all" && place != "owners") throw Error("UNKNOWN_NAME", "ruleAt: received " + place + "; use one of all, owners");
  return place == "owners";
}

inline bool is_by_arrival(const std::string& order) {
  if (order != "ranks" && order != "arrival") throw Error("UNKNOWN_NAME", "order: received " + order + "; use one of ranks, arrival");
  return order == "arrival";
}

inline LevelSpec level_spec(const Napi::Value& value, Holder& holder) {
  const Napi::Object from = object(value, "level");
  LevelSpec level;
  const std::string kind = string(from, "kind");
  if (kind == "devices") return level;
  if (kind == "hosts") {
    level.kind = LevelSpec::Kind::hosts;
    level.hosts = holder.get<HostsObject>(static_cast<Handle>(integer(from, "hosts")))->thread;
    level.chunks = list(property(from, "chunks"), "chunks", exchange_chunk);
    if (const Napi::Value place = property(from, "ruleAt"); !place.IsUndefined()) level.owners_apply = is_at_owners(string(from, "ruleAt"));
    if (const Napi::Value order = property(from, "order"); !order.IsUndefined()) level.by_arrival = is_by_arrival(string(from, "order"));
    if (const Napi::Value racks = property(from, "racks"); !racks.IsUndefined())
      level.racks = list(racks, "racks", [](const Napi::Value& rack) { return list(rack, "rack", rank); });
    return level;
  }
  if (kind != "loopback") throw Error("UNKNOWN_NAME", "level: received " + kind + "; use one of devices, hosts, loopback");
  level.kind = LevelSpec::Kind::loopback;
  if (const Napi::Value link = property(from, "link"); !link.IsUndefined())
    level.link = holder.get<RatedLinkObject>(static_cast<Handle>(integer(from, "link")));
  else
    level.link = std::make_shared<RatedLink>(latency(from));
  return level;
}

// A level over hosts meets that of the same number on the others.
inline void number_level(LevelSpec& level) {
  if (!level.hosts) return;
  if (!level.hosts->is_open()) throw Error("INVALID_STATE", "hosts: they have not met yet; begin once hostsPlace answers");
  level.number = level.hosts->next_group();
}

inline GroupSpec group_spec(const Napi::Object& from, Holder& holder) {
  GroupSpec spec;
  spec.layout = parameter_layout(property(from, "layout"));
  spec.batch = at_least(from, "batch", 1, kLongest);
  const Napi::Object rule = object(property(from, "rule"), "rule");
  if (const std::string kind = string(rule, "kind"); kind == "synchronous")
    spec.synchronous = synchronous_rule(rule);
  else if (kind == "asynchronous")
    spec.asynchronous = asynchronous_rule(rule);
  else
    throw Error("UNKNOWN_NAME", "rule: received " + kind + "; use one of synchronous, asynchronous");
  if (const Napi::Value optimiser = property(from, "optimiser"); !optimiser.IsUndefined())
    spec.optimiser = optimiser_spec(attributes(optimiser));
  if (const Napi::Value average = property(from, "average"); !average.IsUndefined())
    spec.average = evaluation_average(object(average, "average"));
  if (const Napi::Value devices = property(from, "devices"); !devices.IsUndefined()) spec.devices = small(devices, "devices");
  if (const Napi::Value levels = property(from, "levels"); !levels.IsUndefined())
    spec.levels = list(levels, "levels", [&](const Napi::Value& level) { return level_spec(level, holder); });
  return spec;
}

}  // namespace js
}  // namespace arbalest
