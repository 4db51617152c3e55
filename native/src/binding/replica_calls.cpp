// Replicas: made, bound to programs and run.
#include "binding/calls.h"
#include "binding/objects.h"
#include "binding/program_values.h"
#include "binding/tier_values.h"
#include "device/backends.h"

namespace arbalest {
namespace {

Napi::Value create_program(const Info& info) { return handle(info, std::make_shared<ProgramObject>(js::program(info[0]))); }

Napi::Value create_arenas(const Info& info) {
  const Napi::Object from = js::object(info[0], "arenas");
  const std::vector<size_t> sizes = js::list(js::property(from, "sizes"), "sizes", [](const Napi::Value& each) {
    const double bytes = js::number(each, "sizes");
    if (!(bytes >= 0 && bytes <= 0x1p53))
      throw Error("INVALID_OPTION", "sizes: received " + std::to_string(bytes) + "; give bytes, at least 0");
    return static_cast<size_t>(bytes);
  });
  if (sizes.empty() || sizes.size() > 1024)
    throw Error("INVALID_OPTION", "sizes: received " + std::to_string(sizes.size()) + "; give 1 to 1024");
  const Napi::Value staged = js::property(from, "staged");
  Backend& backend = backend_named(js::string(from, "backend"));
  return handle(info, std::make_shared<ArenasObject>(backend, sizes, staged.IsUndefined() ? 0 : js::size(from, "staged"),
                                                     js::host_tier(js::property(from, "tier"))));
}

// { backend, layout, tier }
Napi::Value create_moved_vectors(const Info& info) {
  const Napi::Object from = js::object(info[0], "vectors");
  Backend& backend = backend_named(js::string(from, "backend"));
  const ParameterLayout layout = js::parameter_layout(js::property(from, "layout"));
  return handle(info, std::make_shared<MovedVectorsObject>(
                          MovedVectorsObject{StagedVectors::make(backend, layout, js::host_tier(js::property(from, "tier")))}));
}

Napi::Value create_replica(const Info& info) {
  const Napi::Object from = js::object(info[0], "replica");
  const Napi::Value group = js::property(from, "group"), arenas = js::property(from, "arenas"), device = js::property(from, "device");
  ReplicaSpec spec;
  spec.layout = js::parameter_layout(js::property(from, "layout"));
  spec.threads = js::threads(from);
  spec.seed = static_cast<uint64_t>(js::integer(from, "seed"));
  if (!group.IsUndefined()) {
    spec.learner = js::small(js::property(from, "learner"), "learner");
    spec.group = group_of(info, group);
  }
  if (!arenas.IsUndefined()) spec.arenas = object_of<ArenasObject>(info, arenas, "arenas");
  if (const Napi::Value lease = js::property(from, "lease"); !lease.IsUndefined()) {
    spec.lease = object_of<LeaseObject>(info, lease, "lease");
    spec.job = js::small(js::property(from, "job"), "job");
  }
  spec.tier = js::host_tier(js::property(from, "tier"));
  spec.moved = moved_vectors(info, js::property(from, "moved"));
  const int number = device.IsUndefined() ? 0 : js::small(device, "device");
  Backend& backend = backend_named(js::string(from, "backend"), number);
  spec.device = static_cast<size_t>(number);
  return handle(info, std::make_shared<ReplicaObject>(backend, std::move(spec)));
}

Napi::Value bind(const Info& info) {
  const auto replica = object_of<ReplicaObject>(info, 0);
  const Source source = info[2].IsUndefined() ? Source{} : *object_of<SourceObject>(info, 2);
  return Napi::Number::New(info.Env(), replica->bind(object_of<ProgramObject>(info, 1), source));
}

RunLimits limits(const Napi::Value& value) {
  const Napi::Object from = js::object(value, "limits");
  RunLimits limits;
  if (const Napi::Value steps = js::property(from, "steps"); !steps.IsUndefined()) limits.steps = js::integer(steps, "steps");
  limits.milliseconds = js::number(from, "milliseconds");
  if (limits.steps < 0 || !(limits.milliseconds >= 0 && limits.milliseconds <= 1e9))
    throw Error("INVALID_OPTION", "limits: steps are 0 or more, milliseconds 0 to 1e9");
  if (const Napi::Value position = js::property(from, "position"); !position.IsUndefined()) limits.position = js::size(from, "position");
  if (const Napi::Value rate = js::property(from, "learningRate"); !rate.IsUndefined()) limits.rate = js::number(rate, "learningRate");
  if (const Napi::Value samples = js::property(from, "samples"); !samples.IsUndefined())
    limits.samples = js::list(samples, "samples", [](const Napi::Value& sample) { return js::integer(sample, "sample"); });
  return limits;
}

constexpr const char* kOutcomes[] = {"ran", "waiting", "paused", "evicted", "cancelled"};

Napi::Value run(const Info& info) {
  const auto replica = object_of<ReplicaObject>(info, 0);
  const RunReport report = replica->run(slot(info), limits(info[2]));
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("outcome", kOutcomes[static_cast<size_t>(report.outcome)]);
  result.Set("steps", static_cast<double>(report.steps));
  result.Set("lossSum", report.loss_sum);
  result.Set("correctSum", report.correct_sum);
  result.Set("busySeconds", report.busy_seconds);
  result.Set("waitSeconds", report.wait_seconds);
  result.Set("dataSeconds", report.data_seconds);
  return result;
}

Napi::Value run_segment(const Info& info) {
  const RunLimits given = info[3].IsUndefined() ? RunLimits{} : limits(info[3]);
  const auto outcome = object_of<ReplicaObject>(info, 0)->run_segment(slot(info), js::segment(js::string(info[2], "segment")), given);
  return Napi::String::New(info.Env(), kOutcomes[static_cast<size_t>(outcome)]);
}

Napi::Value cancel(const Info& info) {
  object_of<ReplicaObject>(info, 0)->cancel();
  return info.Env().Undefined();
}

Napi::Value adopt(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(object_of<ReplicaObject>(info, 0)->adopt(*group_of(info, info[1]))));
}

Napi::Value profile(const Info& info) {
  const std::vector<OperatorProfile> profiles = object_of<ReplicaObject>(info, 0)->profile(slot(info));
  Napi::Array result = Napi::Array::New(info.Env(), profiles.size());
  for (uint32_t i = 0; i < profiles.size(); ++i) {
    const OperatorProfile& each = profiles[i];
    Napi::Object outcome = Napi::Object::New(info.Env());
    outcome.Set("segment", js::name_of(each.segment));
    outcome.Set("kind", each.kind);
    outcome.Set("name", each.name);
    outcome.Set("implementation", each.implementation);
    outcome.Set("runs", static_cast<double>(each.runs));
    outcome.Set("seconds", each.seconds);
    outcome.Set("flops", each.flops);
    outcome.Set("bytes", each.bytes);
    result.Set(i, outcome);
  }
  return result;
}

}  // namespace

void add_replica_calls(Napi::Object& addon) {
  add<create_program>(addon, "createProgram");
  add<create_arenas>(addon, "createArenas");
  add<create_moved_vectors>(addon, "createMovedVectors");
  add<create_replica>(addon, "createReplica");
  add<bind>(addon, "bind");
  add<run>(addon, "run");
  add<run_segment>(addon, "runSegment");
  add<cancel>(addon, "cancel");
  add<adopt>(addon, "adopt");
  add<profile>(addon, "profile");
}

}  // namespace arbalest
