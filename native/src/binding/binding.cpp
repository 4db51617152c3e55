// The addon's calls. This folder alone knows that JavaScript exists; src/engine/contract.ts is its other side.
#include <napi.h>

#include <cfenv>

#include "../backends.h"
#include "../cores.h"
#include "../handles.h"
#include "../replica.h"
#include "../snapshot.h"
#include "../sync/group.h"
#include "../sync/levels.h"
#include "dataset_values.h"
#include "group_values.h"
#include "stream_values.h"
#include "values.h"
#include "wake_up.h"

namespace arbalest {
namespace {

// What a handle can stand for.
struct SourceThing : Source {
  static constexpr const char* kKind = "data set";
  explicit SourceThing(Source source) : Source(std::move(source)) {}
};
struct ProgramThing : Program {
  static constexpr const char* kKind = "program";
  explicit ProgramThing(Program program) : Program(std::move(program)) {}
};
struct GroupThing {
  static constexpr const char* kKind = "group";
  std::unique_ptr<Group> group;
};
struct ArenasThing : Arenas {
  static constexpr const char* kKind = "set of arenas";
  using Arenas::Arenas;
};
struct ReplicaThing : Replica {
  static constexpr const char* kKind = "replica";
  using Replica::Replica;
};

using Info = Napi::CallbackInfo;

Holder& holder(const Info& info) { return *info.Env().GetInstanceData<Holder>(); }

template <class T> std::shared_ptr<T> thing(const Info& info, size_t argument) {
  return holder(info).get<T>(static_cast<Handle>(js::integer(info[argument], T::kKind)));
}

Napi::Value describe(const Info& info) {
  Napi::Object result = Napi::Object::New(info.Env());
  const LibraryReport report = about_library_of(js::string(info[0], "backend"));
  result.Set("available", report.available);
  result.Set("detail", report.detail);
  return result;
}

Napi::Value lower(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  return js::lowering_answer(info.Env(), backend, backend.lower(js::lowering_request(info[1])));
}

Napi::Value bytes(const Info& info) {
  const TensorSpec spec{js::type(js::string(info[2], "type")), js::shape(info[1], "shape"), js::string(info[3], "layout")};
  return Napi::Number::New(info.Env(), static_cast<double>(backend_named(js::string(info[0], "backend")).bytes(spec)));
}

template <class T> Napi::Value handle(const Info& info, std::shared_ptr<T> pointer) {
  return Napi::Number::New(info.Env(), static_cast<double>(holder(info).add(std::move(pointer))));
}

Napi::Value create_dataset(const Info& info) {
  return handle(info, std::make_shared<SourceThing>(Source{std::make_shared<Dataset>(js::dataset(info[0])), nullptr}));
}

Napi::Value create_stream(const Info& info) {
  return handle(info, std::make_shared<SourceThing>(Source{nullptr, std::make_shared<BatchStream>(js::stream_spec(info[0]))}));
}

BatchStream& stream(const Info& info) {
  const auto source = thing<SourceThing>(info, 0);
  if (!source->stream) throw Error("STALE_HANDLE", "handle: received a data set in memory where a stream is needed");
  return *source->stream;
}

Napi::Value next_batch(const Info& info) {
  const std::optional<BatchStream::Request> request = stream(info).next(js::string(info[1], "which") == "ahead");
  return request ? js::batch_request(info.Env(), *request) : info.Env().Null();
}

Napi::Value feed_batch(const Info& info) {
  BatchStream& fed = stream(info);
  if (!info[2].IsTypedArray() || !info[3].IsTypedArray()) js::wrong("batch", "samples as a Uint8Array and labels as an Int32Array");
  const size_t bytes = info[2].As<Napi::TypedArray>().ElementLength(), count = info[3].As<Napi::TypedArray>().ElementLength();
  const auto* labels = reinterpret_cast<const int32_t*>(js::numbers(info[3], "labels", Type::i32, count));
  fed.feed(js::natural(info[1], "position"), {js::numbers(info[2], "samples", Type::u8, bytes), bytes}, {labels, count});
  return info.Env().Undefined();
}

Napi::Value watch_stream(const Info& info) {
  BatchStream& watched = stream(info);
  if (!info[1].IsFunction()) js::wrong("wake", "a function");
  watched.watch(wake_up(info.Env(), info[1].As<Napi::Function>()));
  return info.Env().Undefined();
}

Napi::Value stream_status(const Info& info) { return js::stream_status(info.Env(), stream(info).status()); }

Napi::Value create_program(const Info& info) { return handle(info, std::make_shared<ProgramThing>(js::program(info[0]))); }

// The group behind a handle, which lives as long as what is returned.
std::shared_ptr<Group> group_of(const Info& info, const Napi::Value& handle) {
  const auto found = holder(info).get<GroupThing>(static_cast<Handle>(js::integer(handle, GroupThing::kKind)));
  return {found, found->group.get()};
}

std::shared_ptr<Group> group_of(const Info& info) { return group_of(info, info[0]); }

Napi::Value create_group(const Info& info) {
  const Napi::Object from = js::object(info[0], "group");
  Backend& backend = backend_named(js::string(from, "backend"));
  GroupSpec spec = js::group_spec(from);
  const std::byte* initial = js::numbers(js::property(from, "initial"), "initial", spec.layout.type(), spec.layout.elements);
  return handle(info, std::make_shared<GroupThing>(GroupThing{make_group(backend, std::move(spec), initial)}));
}

std::shared_ptr<Arenas> arenas_of(const Info& info, const Napi::Value& value) {
  return holder(info).get<ArenasThing>(static_cast<Handle>(js::integer(value, "arenas")));
}

Napi::Value create_replica(const Info& info) {
  const Napi::Object from = js::object(info[0], "replica");
  const Napi::Value group = js::property(from, "group"), arenas = js::property(from, "arenas");
  const int learner = group.IsUndefined() ? -1 : js::small(js::property(from, "learner"), "learner");
  return handle(info, std::make_shared<ReplicaThing>(
                          backend_named(js::string(from, "backend")), js::parameter_layout(js::property(from, "layout")), js::threads(from),
                          static_cast<uint64_t>(js::integer(from, "seed")), group.IsUndefined() ? nullptr : group_of(info, group), learner,
                          arenas.IsUndefined() ? nullptr : arenas_of(info, arenas)));
}

Napi::Value create_arenas(const Info& info) {
  const Napi::Object from = js::object(info[0], "arenas");
  const int64_t bytes = js::integer(from, "bytes"), count = js::integer(from, "count");
  if (bytes < 0) throw Error("INVALID_OPTION", "bytes: received " + std::to_string(bytes) + "; give at least 0");
  if (count < 1 || count > 1024) throw Error("INVALID_OPTION", "count: received " + std::to_string(count) + "; give 1 to 1024");
  Backend& backend = backend_named(js::string(from, "backend"));
  return handle(info, std::make_shared<ArenasThing>(backend, static_cast<size_t>(bytes), static_cast<int>(count)));
}

Napi::Value arenas_touched(const Info& info) { return Napi::Number::New(info.Env(), thing<ArenasThing>(info, 0)->touched()); }

Napi::Value release(const Info& info) {
  holder(info).release(static_cast<Handle>(js::integer(info[0], "handle")));
  return info.Env().Undefined();
}

Napi::Value bind(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
  const Source source = info[2].IsUndefined() ? Source{} : *thing<SourceThing>(info, 2);
  return Napi::Number::New(info.Env(), replica->bind(thing<ProgramThing>(info, 1), source));
}

int slot(const Info& info) { return js::small(info[1], "slot"); }

RunLimits limits(const Napi::Value& value) {
  const Napi::Object from = js::object(value, "limits");
  RunLimits limits;
  if (const Napi::Value steps = js::property(from, "steps"); !steps.IsUndefined()) limits.steps = js::integer(steps, "steps");
  limits.milliseconds = js::number(from, "milliseconds");
  if (limits.steps < 0 || !(limits.milliseconds >= 0 && limits.milliseconds <= 1e9))
    throw Error("INVALID_OPTION", "limits: steps are 0 or more, milliseconds 0 to 1e9");
  if (const Napi::Value position = js::property(from, "position"); !position.IsUndefined()) limits.position = js::size(from, "position");
  if (const Napi::Value rate = js::property(from, "rate"); !rate.IsUndefined()) limits.rate = js::number(rate, "rate");
  if (const Napi::Value samples = js::property(from, "samples"); !samples.IsUndefined())
    limits.samples = js::list(samples, "samples", [](const Napi::Value& sample) { return js::integer(sample, "sample"); });
  return limits;
}

constexpr const char* kOutcomes[] = {"ran", "waiting", "paused", "evicted", "cancelled"};

Napi::Value run(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
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
  const auto outcome = thing<ReplicaThing>(info, 0)->run_segment(slot(info), js::segment(js::string(info[2], "segment")), given);
  return Napi::String::New(info.Env(), kOutcomes[static_cast<size_t>(outcome)]);
}

Napi::Value cancel(const Info& info) {
  thing<ReplicaThing>(info, 0)->cancel();
  return info.Env().Undefined();
}

Napi::Value read_value(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
  const std::string name = js::string(info[2], "name");
  const TensorSpec spec = replica->value_spec(slot(info), name);
  return js::new_numbers(info.Env(), spec.type, static_cast<size_t>(elements_of(spec.shape)),
                         [&](std::byte* canonical) { replica->read_value(slot(info), name, canonical); });
}

Napi::Value write_value(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
  const std::string name = js::string(info[2], "name");
  const TensorSpec spec = replica->value_spec(slot(info), name);
  replica->write_value(slot(info), name, js::numbers(info[3], name, spec.type, static_cast<size_t>(elements_of(spec.shape))));
  return info.Env().Undefined();
}

Vector vector_named(const Napi::Value& value) {
  const std::string name = js::string(value, "vector");
  if (name == "weights") return Vector::weights;
  if (name == "gradients") return Vector::gradients;
  if (name == "velocity") return Vector::velocity;
  if (name == "firstMoment") return Vector::first_moment;
  if (name == "secondMoment") return Vector::second_moment;
  throw Error("UNKNOWN_NAME", "vector: received " + name + "; use one of weights, gradients, velocity, firstMoment, secondMoment");
}

Napi::Value read_vector(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
  const ParameterLayout& layout = replica->layout();
  const Vector which = vector_named(info[1]);
  return js::new_numbers(info.Env(), layout.type(), layout.elements, [&](std::byte* canonical) { replica->read_vector(which, canonical); });
}

Napi::Value write_vector(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
  const ParameterLayout& layout = replica->layout();
  replica->write_vector(vector_named(info[1]), js::numbers(info[2], "vector", layout.type(), layout.elements));
  return info.Env().Undefined();
}

Napi::Value adopt(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(thing<ReplicaThing>(info, 0)->adopt(*group_of(info, info[1]))));
}

Napi::Value profile(const Info& info) {
  const std::vector<OperatorProfile> profiles = thing<ReplicaThing>(info, 0)->profile(slot(info));
  Napi::Array result = Napi::Array::New(info.Env(), profiles.size());
  for (uint32_t i = 0; i < profiles.size(); ++i) {
    const OperatorProfile& each = profiles[i];
    Napi::Object entry = Napi::Object::New(info.Env());
    entry.Set("segment", js::name_of(each.segment));
    entry.Set("kind", each.kind);
    entry.Set("name", each.name);
    entry.Set("implementation", each.implementation);
    entry.Set("runs", static_cast<double>(each.runs));
    entry.Set("seconds", each.seconds);
    entry.Set("flops", each.flops);
    entry.Set("bytes", each.bytes);
    result.Set(i, entry);
  }
  return result;
}

int learner(const Info& info) { return js::small(info[1], "learner"); }

Napi::Value join(const Info& info) {
  const bool resumed = info[2].ToBoolean();
  const int device = info[3].IsUndefined() ? 0 : js::small(info[3], "device");
  return Napi::Number::New(info.Env(), static_cast<double>(group_of(info)->join(learner(info), resumed, device)));
}

Napi::Value leave(const Info& info) { return Napi::Number::New(info.Env(), static_cast<double>(group_of(info)->leave(learner(info)))); }

Napi::Value evict(const Info& info) {
  group_of(info)->evict(learner(info));
  return info.Env().Undefined();
}

Napi::Value set_rates(const Info& info) {
  const auto group = group_of(info);
  if (!info[2].IsTypedArray()) js::wrong("rates", "a Float32Array");
  const size_t count = info[2].As<Napi::TypedArray>().ElementLength();
  const auto* rates = reinterpret_cast<const float*>(js::numbers(info[2], "rates", Type::f32, count));
  group->set_rates(js::integer(info[1], "fromIteration"), {rates, count});
  return info.Env().Undefined();
}

Napi::Value set_restarts(const Info& info) {
  group_of(info)->set_restarts(js::list(info[1], "rounds", [](const Napi::Value& round) { return js::integer(round, "round"); }));
  return info.Env().Undefined();
}

// A round's or an iteration's number; Infinity for never.
int64_t number_or_never(const Napi::Value& value, const char* what) {
  const double found = js::number(value, what);
  return std::isinf(found) && found > 0 ? Group::kNever : js::integer(value, what);
}

Napi::Value set_pause(const Info& info) {
  group_of(info)->set_pause(number_or_never(info[1], "round"));
  return info.Env().Undefined();
}

Napi::Value set_end(const Info& info) {
  group_of(info)->set_end(number_or_never(info[1], "iterations"));
  return info.Env().Undefined();
}

Napi::Value stop(const Info& info) {
  group_of(info)->stop();
  return info.Env().Undefined();
}

Napi::Value group_status(const Info& info) {
  const GroupStatus status = group_of(info)->status();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("round", static_cast<double>(status.round));
  result.Set("iterations", static_cast<double>(status.iterations));
  result.Set("position", static_cast<double>(status.position));
  result.Set("members", js::array(info.Env(), status.members));
  result.Set("arrived", js::array(info.Env(), status.arrived));
  result.Set("notFiniteAt", static_cast<double>(status.not_finite_at));
  return result;
}

Napi::Value losses(const Info& info) {
  const std::vector<float> losses = group_of(info)->losses(js::integer(info[1], "fromIteration"));
  return js::new_numbers(info.Env(), Type::f32, losses.size(),
                         [&](std::byte* out) { std::memcpy(out, losses.data(), losses.size() * sizeof(float)); });
}

Napi::Value read_central(const Info& info) {
  const auto group = group_of(info);
  return js::new_numbers(info.Env(), group->layout().type(), group->layout().elements,
                         [&](std::byte* canonical) { group->read_central(canonical); });
}

Napi::Value read_device_central(const Info& info) {
  const auto group = group_of(info);
  const int device = js::small(info[1], "device");
  return js::new_numbers(info.Env(), group->layout().type(), group->layout().elements,
                         [&](std::byte* canonical) { group->read_device_central(device, canonical); });
}

// Four numbers a span: level, round, start and end in seconds.
Napi::Value level_spans(const Info& info) {
  std::vector<double> numbers;
  for (const auto& [level, round, start, end] : group_of(info)->level_spans())
    numbers.insert(numbers.end(), {static_cast<double>(level), static_cast<double>(round), start, end});
  return js::new_numbers(info.Env(), Type::f64, numbers.size(),
                         [&](std::byte* out) { std::memcpy(out, numbers.data(), numbers.size() * sizeof(double)); });
}

Napi::Value write_central(const Info& info) {
  const auto group = group_of(info);
  group->write_central(js::numbers(info[1], "weights", group->layout().type(), group->layout().elements));
  return info.Env().Undefined();
}

template <class T> Napi::Value captured(const Info& info, const T& owner) {
  auto snapshot = std::make_shared<Snapshot>(owner.backend(), owner.layout());
  owner.capture(*snapshot);
  return handle(info, std::move(snapshot));
}

Napi::Value capture_group(const Info& info) { return captured(info, *group_of(info)); }

Napi::Value capture_replica(const Info& info) { return captured(info, *thing<ReplicaThing>(info, 0)); }

// { vectors: { name: numbers }, counts: { name: number } }
template <class T> Napi::Value restored(const Info& info, T& owner) {
  const Napi::Object from = js::object(info[1], "snapshot");
  const ParameterLayout& layout = owner.layout();
  Snapshot snapshot(owner.backend(), layout);
  const auto each = [&](const char* member, auto&& take) {
    const Napi::Object named = js::object(js::property(from, member), member);
    const Napi::Array names = named.GetPropertyNames();
    for (uint32_t i = 0; i < names.Length(); ++i) {
      const std::string name = js::string(names.Get(i), "name");
      take(name, named.Get(name));
    }
  };
  each("vectors", [&](const std::string& name, const Napi::Value& numbers) {
    snapshot.write(name, js::numbers(numbers, name.c_str(), layout.type(), layout.elements));
  });
  each("counts", [&](const std::string& name, const Napi::Value& number) { snapshot.count(name, js::integer(number, name.c_str())); });
  owner.restore(snapshot);
  return info.Env().Undefined();
}

Napi::Value restore_group(const Info& info) { return restored(info, *group_of(info)); }

Napi::Value restore_replica(const Info& info) { return restored(info, *thing<ReplicaThing>(info, 0)); }

Napi::Value snapshot_parts(const Info& info) {
  const auto snapshot = thing<Snapshot>(info, 0);
  Napi::Array vectors = Napi::Array::New(info.Env());
  for (const auto& [name, vector] : snapshot->vectors()) vectors.Set(vectors.Length(), name);
  Napi::Object counts = Napi::Object::New(info.Env());
  for (const auto& [name, number] : snapshot->counts()) counts.Set(name, static_cast<double>(number));
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("vectors", vectors);
  result.Set("counts", counts);
  return result;
}

Napi::Value read_snapshot(const Info& info) {
  const auto snapshot = thing<Snapshot>(info, 0);
  const ParameterLayout& layout = snapshot->layout();
  const std::string name = js::string(info[1], "name");
  return js::new_numbers(info.Env(), layout.type(), layout.elements, [&](std::byte* canonical) { snapshot->read(name, canonical); });
}

Napi::Value keep_cores(const Info& info) {
  const std::vector<int> cores = js::list(info[0], "cores", [](const Napi::Value& core) { return js::small(core, "core"); });
  if (cores.empty()) throw Error("INVALID_OPTION", "cores: received none; give at least one");
  for (int core : cores)
    if (core < 0 || core > 65535)
      throw Error("INVALID_OPTION", "core: received " + std::to_string(core) + "; give numbers from 0 to 65535");
  keep_to_cores(cores);
  return info.Env().Undefined();
}

Napi::Value measure_level(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  const int parts = js::small(info[2], "parts");
  const int64_t bytes = js::integer(info[3], "bytes");
  if (parts < 1 || parts > 1024) throw Error("INVALID_OPTION", "parts: received " + std::to_string(parts) + "; give 1 to 1024");
  if (bytes < 4 || bytes > int64_t{1} << 40) throw Error("INVALID_OPTION", "bytes: received " + std::to_string(bytes) + "; give 4 to 2^40");
  return Napi::Number::New(info.Env(), measure_level(backend, js::level_spec(info[1]), parts, static_cast<size_t>(bytes)));
}

Napi::Value measure_peak(const Info& info) { return Napi::Number::New(info.Env(), backend_named("cpu").measure_peak()); }

// Kernels flush denormal numbers to zero on the thread that runs them; JavaScript's arithmetic on that thread must not.
class CallerFloatingPoint {
 public:
  CallerFloatingPoint() { std::fegetenv(&environment_); }
  ~CallerFloatingPoint() { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_;
};

// Every failure of native code becomes a JavaScript error with its code.
template <Napi::Value (*call)(const Info&)> Napi::Value guarded(const Info& info) {
  std::string code = "INTERNAL", message;
  try {
    const CallerFloatingPoint restored;
    return call(info);
  } catch (const Error& error) {
    code = error.code();
    message = error.what();
  } catch (const std::bad_alloc&) {
    code = "OUT_OF_MEMORY";
    message = "memory: the machine has no more; use fewer learners or a smaller batch";
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    message = error.what();
  }
  Napi::Error error = Napi::Error::New(info.Env(), message);
  error.Set("code", code);
  throw error;
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new Holder);
  const auto add = [&](const char* name, auto function) { exports.Set(name, Napi::Function::New(env, function, name)); };
  add("describe", guarded<describe>);
  add("lower", guarded<lower>);
  add("bytes", guarded<bytes>);
  add("createDataset", guarded<create_dataset>);
  add("createStream", guarded<create_stream>);
  add("nextBatch", guarded<next_batch>);
  add("feedBatch", guarded<feed_batch>);
  add("watchStream", guarded<watch_stream>);
  add("streamStatus", guarded<stream_status>);
  add("createProgram", guarded<create_program>);
  add("createGroup", guarded<create_group>);
  add("createReplica", guarded<create_replica>);
  add("createArenas", guarded<create_arenas>);
  add("arenasTouched", guarded<arenas_touched>);
  add("release", guarded<release>);
  add("bind", guarded<bind>);
  add("run", guarded<run>);
  add("runSegment", guarded<run_segment>);
  add("cancel", guarded<cancel>);
  add("readValue", guarded<read_value>);
  add("writeValue", guarded<write_value>);
  add("readVector", guarded<read_vector>);
  add("writeVector", guarded<write_vector>);
  add("adopt", guarded<adopt>);
  add("profile", guarded<profile>);
  add("join", guarded<join>);
  add("leave", guarded<leave>);
  add("evict", guarded<evict>);
  add("setRates", guarded<set_rates>);
  add("setRestarts", guarded<set_restarts>);
  add("setPause", guarded<set_pause>);
  add("setEnd", guarded<set_end>);
  add("stop", guarded<stop>);
  add("groupStatus", guarded<group_status>);
  add("losses", guarded<losses>);
  add("readCentral", guarded<read_central>);
  add("readDeviceCentral", guarded<read_device_central>);
  add("levelSpans", guarded<level_spans>);
  add("writeCentral", guarded<write_central>);
  add("captureGroup", guarded<capture_group>);
  add("captureReplica", guarded<capture_replica>);
  add("restoreGroup", guarded<restore_group>);
  add("restoreReplica", guarded<restore_replica>);
  add("snapshotParts", guarded<snapshot_parts>);
  add("readSnapshot", guarded<read_snapshot>);
  add("keepToCores", guarded<keep_cores>);
  add("measureLevel", guarded<measure_level>);
  add("measurePeak", guarded<measure_peak>);
  return exports;
}

}  // namespace

NODE_API_MODULE(arbalest, initialise)

}  // namespace arbalest
