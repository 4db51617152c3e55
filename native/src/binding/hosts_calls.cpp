// The hosts of a run: their messages, and the end of the link between them.
#include "binding/hosts_values.h"

#include <algorithm>

#include "binding/calls.h"
#include "binding/typed_arrays.h"
#include "binding/wake_up.h"

namespace arbalest {
namespace {

Napi::Value open_hosts(const Info& info) { return handle(info, js::hosts(js::object(info[0], "hosts"))); }

Napi::Value refused_messages(const Info& info) {
  const auto hosts = object_of<HostsObject>(info, 0);
  if (!hosts->refusals) return info.Env().Null();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("nonces", static_cast<double>(hosts->refusals->nonces));
  result.Set("lengths", static_cast<double>(hosts->refusals->lengths));
  result.Set("keys", static_cast<double>(hosts->refusals->keys));
  return result;
}

Napi::Value hosts_place(const Info& info) {
  const auto hosts = object_of<HostsObject>(info, 0);
  if (!hosts->thread->is_open()) {
    if (const std::exception_ptr failure = hosts->thread->failure()) std::rethrow_exception(failure);
    return info.Env().Null();
  }
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("rank", hosts->thread->rank());
  result.Set("size", hosts->thread->size());
  return result;
}

Napi::Value lost_hosts(const Info& info) {
  const HostsThread& thread = *object_of<HostsObject>(info, 0)->thread;
  if (const std::exception_ptr failure = thread.failure()) std::rethrow_exception(failure);
  Napi::Array lost = Napi::Array::New(info.Env());
  for (int rank = 0; rank < thread.size(); ++rank)
    if (thread.is_lost(rank)) lost[lost.Length()] = rank;
  return lost;
}

Napi::Value send_to_host(const Info& info) {
  const auto hosts = object_of<HostsObject>(info, 0);
  if (!info[2].IsTypedArray()) js::wrong("bytes", "a Uint8Array");
  const size_t bytes = info[2].As<Napi::TypedArray>().ElementLength();
  hosts->messages.send(js::small(info[1], "to"), {js::numbers(info[2], "bytes", Type::u8, bytes), bytes});
  return info.Env().Undefined();
}

Napi::Value take_from_host(const Info& info) {
  const auto message = object_of<HostsObject>(info, 0)->messages.take(js::small(info[1], "from"));
  if (!message) return info.Env().Null();
  return js::new_numbers(info.Env(), Type::u8, message->size(), [&](std::byte* out) { std::ranges::copy(*message, out); });
}

Napi::Value watch_hosts(const Info& info) {
  if (!info[1].IsFunction()) js::wrong("wake", "a function");
  object_of<HostsObject>(info, 0)->messages.watch(wake_up(info.Env(), info[1].As<Napi::Function>()));
  return info.Env().Undefined();
}

Napi::Value measure_links(const Info& info) {
  const auto hosts = object_of<HostsObject>(info, 0);
  if (!hosts->thread->is_open()) throw Error("INVALID_STATE", "hosts: they have not met yet; measure once hostsPlace answers");
  return handle(info, std::make_shared<LinkProbeObject>(hosts->thread, hosts->thread->next_group()));
}

Napi::Value link_figures(const Info& info) {
  const auto figures = object_of<LinkProbeObject>(info, 0)->figures();
  if (!figures) return info.Env().Null();
  const auto numbers = [&](const std::vector<double>& values) {
    Napi::Array array = Napi::Array::New(info.Env(), values.size());
    for (uint32_t i = 0; i < values.size(); ++i) array[i] = values[i];
    return array;
  };
  Napi::Array turns = Napi::Array::New(info.Env(), figures->turns.size());
  for (uint32_t i = 0; i < figures->turns.size(); ++i) {
    Napi::Object turn = Napi::Object::New(info.Env());
    turn.Set("distance", figures->turns[i].distance);
    turn.Set("bytesPerSecond", numbers(figures->turns[i].bytes_per_second));
    turns[i] = turn;
  }
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("turns", turns);
  result.Set("latency", numbers(figures->latency));
  result.Set("secondsPerByte", numbers(figures->seconds_per_byte));
  return result;
}

Napi::Value end_hosts(const Info& info) {
  object_of<HostsObject>(info, 0)->thread->end();
  return info.Env().Undefined();
}

Napi::Value hosts_ended(const Info& info) { return Napi::Boolean::New(info.Env(), object_of<HostsObject>(info, 0)->thread->has_ended()); }

Napi::Value abort_hosts(const Info& info) {
  object_of<HostsObject>(info, 0)->thread->abort(js::small(info[1], "code"));
  return info.Env().Undefined();
}

}  // namespace

void add_hosts_calls(Napi::Object& addon) {
  add<open_hosts>(addon, "openHosts");
  add<hosts_place>(addon, "hostsPlace");
  add<lost_hosts>(addon, "lostHosts");
  add<refused_messages>(addon, "refusedMessages");
  add<send_to_host>(addon, "sendToHost");
  add<take_from_host>(addon, "takeFromHost");
  add<watch_hosts>(addon, "watchHosts");
  add<measure_links>(addon, "measureLinks");
  add<link_figures>(addon, "linkFigures");
  add<end_hosts>(addon, "endHosts");
  add<hosts_ended>(addon, "hostsEnded");
  add<abort_hosts>(addon, "abortHosts");
}

}  // namespace arbalest
