// The turns of several jobs on one device.
#include "binding/calls.h"
#include "binding/hosts_values.h"
#include "binding/objects.h"
#include "binding/typed_arrays.h"

namespace arbalest {
namespace {

std::vector<double> shares(const Napi::Value& value) {
  return js::list(value, "shares", [](const Napi::Value& share) { return js::number(share, "share"); });
}

Napi::Value create_lease(const Info& info) {
  const Napi::Object from = js::object(info[0], "lease");
  const auto lease = std::make_shared<LeaseObject>(shares(js::property(from, "shares")));
  if (const Napi::Value hosts = js::property(from, "hosts"); !hosts.IsUndefined())
    lease->hosts = std::make_unique<LeaseMessages>(object_of<HostsObject>(info, hosts, "hosts")->thread, *lease);
  return handle(info, lease);
}

DeviceLease::Turns turns(const Napi::Object& from) {
  using Mode = DeviceLease::Turns::Mode;
  const std::string mode = js::string(from, "mode");
  const auto counts = [&]() -> std::vector<double> {
    const Napi::Value given = js::property(from, "counts");
    if (given.IsUndefined()) return {};
    return js::list(given, "counts", [](const Napi::Value& count) { return js::number(count, "counts"); });
  };
  if (mode == "shared") return {.mode = Mode::shared, .counts = counts()};
  if (mode == "alone") return {Mode::alone, js::small(js::property(from, "job"), "job")};
  if (mode != "crossed") throw Error("UNKNOWN_NAME", "mode: received " + mode + "; use one of shared, crossed, alone");
  DeviceLease::Turns result{.mode = Mode::crossed, .counts = counts()};
  if (const Napi::Value order = js::property(from, "order"); !order.IsUndefined())
    result.order = js::list(order, "order", [](const Napi::Value& job) { return js::small(job, "order"); });
  return result;
}

Napi::Value set_lease(const Info& info) {
  const auto lease = object_of<LeaseObject>(info, 0);
  const Napi::Object from = js::object(info[1], "turns");
  DeviceLease::Turns given = turns(from);
  if (const Napi::Value share = js::property(from, "shares"); !share.IsUndefined()) lease->set_shares(shares(share));
  lease->set_turns(std::move(given));
  return info.Env().Undefined();
}

Napi::Value lease_figures(const Info& info) {
  const std::vector<DeviceLease::Figures> figures = object_of<LeaseObject>(info, 0)->figures();
  Napi::Array result = Napi::Array::New(info.Env(), figures.size());
  for (uint32_t job = 0; job < figures.size(); ++job) {
    Napi::Object each = Napi::Object::New(info.Env());
    each.Set("turns", static_cast<double>(figures[job].turns));
    each.Set("seconds", figures[job].seconds);
    each.Set("waited", figures[job].waited);
    each.Set("rounds", static_cast<double>(figures[job].rounds));
    each.Set("last", figures[job].last);
    each.Set("exchanged", figures[job].exchanged);
    each.Set("overhead", figures[job].overhead);
    each.Set("processor", figures[job].processor);
    result.Set(job, each);
  }
  return result;
}

// Two numbers a turn.
Napi::Value lease_spans(const Info& info) {
  const std::vector<DeviceLease::Span> spans = object_of<LeaseObject>(info, 0)->spans(js::small(info[1], "job"));
  return js::new_numbers(info.Env(), Type::f64, 2 * spans.size(), [&](std::byte* out) {
    auto* const numbers = reinterpret_cast<double*>(out);
    for (size_t i = 0; i < spans.size(); ++i) {
      numbers[2 * i] = spans[i].start;
      numbers[2 * i + 1] = spans[i].end;
    }
  });
}

Napi::Value lease_holder(const Info& info) { return Napi::Number::New(info.Env(), object_of<LeaseObject>(info, 0)->holder()); }

}  // namespace

void add_lease_calls(Napi::Object& addon) {
  add<create_lease>(addon, "createLease");
  add<set_lease>(addon, "setLease");
  add<lease_figures>(addon, "leaseFigures");
  add<lease_spans>(addon, "leaseSpans");
  add<lease_holder>(addon, "leaseHolder");
}

}  // namespace arbalest
