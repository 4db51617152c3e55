// The addon's calls. This folder alone knows that JavaScript exists; src/engine/contract.ts is its other side.
#include <napi.h>

#include <cfenv>

#include "../backends.h"
#include "../handles.h"
#include "../replica.h"
#include "../sync/group.h"
#include "dataset_values.h"
#include "values.h"

namespace arbalest {
namespace {

// What a handle can stand for.
struct DatasetThing : Dataset {
  static constexpr const char* kKind = "data set";
  explicit DatasetThing(Dataset dataset) : Dataset(std::move(dataset)) {}
};
struct ProgramThing : Program {
  static constexpr const char* kKind = "program";
  explicit ProgramThing(Program program) : Program(std::move(program)) {}
};
struct GroupThing : Group {
  static constexpr const char* kKind = "group";
  using Group::Group;
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
  const LibraryReport report = about_cpu_library();
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

Napi::Value create_dataset(const Info& info) { return handle(info, std::make_shared<DatasetThing>(js::dataset(info[0]))); }

Napi::Value create_program(const Info& info) { return handle(info, std::make_shared<ProgramThing>(js::program(info[0]))); }

Napi::Value create_group(const Info& info) {
  const Napi::Object from = js::object(info[0], "group");
  GroupSpec spec;
  spec.layout = js::parameter_layout(js::property(from, "layout"));
  spec.batch = js::integer(from, "batch");
  spec.period = js::integer(from, "period");
  if (spec.batch < 1) throw Error("INVALID_OPTION", "batch: received " + std::to_string(spec.batch) + "; give at least 1");
  if (spec.period < 1) throw Error("INVALID_OPTION", "period: received " + std::to_string(spec.period) + "; give at least 1");
  if (const Napi::Value alpha = js::property(from, "alpha"); !alpha.IsNull()) spec.alpha = js::number(alpha, "alpha");
  spec.sync_momentum = js::number(from, "syncMomentum");
  Backend& backend = backend_named(js::string(from, "backend"));
  const std::byte* initial = js::numbers(js::property(from, "initial"), "initial", spec.layout.type(), spec.layout.elements);
  return handle(info, std::make_shared<GroupThing>(backend, std::move(spec), initial));
}

Napi::Value create_replica(const Info& info) {
  const Napi::Object from = js::object(info[0], "replica");
  const Napi::Value group = js::property(from, "group");
  const int64_t threads = js::integer(from, "threads");
  if (threads < 1 || threads > 1024) throw Error("INVALID_OPTION", "threads: received " + std::to_string(threads) + "; give 1 to 1024");
  const int learner = group.IsUndefined() ? -1 : static_cast<int>(js::integer(from, "learner"));
  return handle(
      info, std::make_shared<ReplicaThing>(
                backend_named(js::string(from, "backend")), js::parameter_layout(js::property(from, "layout")), static_cast<int>(threads),
                static_cast<uint64_t>(js::integer(from, "seed")),
                group.IsUndefined() ? nullptr : holder(info).get<GroupThing>(static_cast<Handle>(js::integer(group, "group"))), learner));
}

Napi::Value release(const Info& info) {
  holder(info).release(static_cast<Handle>(js::integer(info[0], "handle")));
  return info.Env().Undefined();
}

Napi::Value bind(const Info& info) {
  const auto replica = thing<ReplicaThing>(info, 0);
  std::shared_ptr<const Dataset> dataset;
  if (!info[2].IsUndefined()) dataset = thing<DatasetThing>(info, 2);
  return Napi::Number::New(info.Env(), replica->bind(thing<ProgramThing>(info, 1), dataset));
}

int slot(const Info& info) { return static_cast<int>(js::integer(info[1], "slot")); }

RunLimits limits(const Napi::Value& value) {
  const Napi::Object from = js::object(value, "limits");
  RunLimits limits;
  if (const Napi::Value steps = js::property(from, "steps"); !steps.IsUndefined()) limits.steps = js::integer(steps, "steps");
  limits.milliseconds = js::number(from, "milliseconds");
  if (limits.steps < 0 || !(limits.milliseconds >= 0 && limits.milliseconds <= 1e9))
    throw Error("INVALID_OPTION", "limits: steps are 0 or more, milliseconds 0 to 1e9");
  if (const Napi::Value position = js::property(from, "position"); !position.IsUndefined())
    limits.position = static_cast<uint64_t>(js::integer(position, "position"));
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
  throw Error("UNKNOWN_NAME", "vector: received " + name + "; use one of weights, gradients, velocity");
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
  return Napi::Number::New(info.Env(), static_cast<double>(thing<ReplicaThing>(info, 0)->adopt(*thing<GroupThing>(info, 1))));
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

int learner(const Info& info) { return static_cast<int>(js::integer(info[1], "learner")); }

Napi::Value join(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(thing<GroupThing>(info, 0)->join(learner(info))));
}

Napi::Value leave(const Info& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(thing<GroupThing>(info, 0)->leave(learner(info))));
}

Napi::Value evict(const Info& info) {
  thing<GroupThing>(info, 0)->evict(learner(info));
  return info.Env().Undefined();
}

Napi::Value set_rates(const Info& info) {
  const auto group = thing<GroupThing>(info, 0);
  if (!info[2].IsTypedArray()) js::wrong("rates", "a Float32Array");
  const size_t count = info[2].As<Napi::TypedArray>().ElementLength();
  const auto* rates = reinterpret_cast<const float*>(js::numbers(info[2], "rates", Type::f32, count));
  group->set_rates(js::integer(info[1], "fromIteration"), {rates, count});
  return info.Env().Undefined();
}

Napi::Value set_restarts(const Info& info) {
  thing<GroupThing>(info, 0)->set_restarts(
      js::list(info[1], "rounds", [](const Napi::Value& round) { return js::integer(round, "round"); }));
  return info.Env().Undefined();
}

// A round's or an iteration's number; Infinity for never.
int64_t number_or_never(const Napi::Value& value, const char* what) {
  const double found = js::number(value, what);
  return std::isinf(found) && found > 0 ? Group::kNever : js::integer(value, what);
}

Napi::Value set_pause(const Info& info) {
  thing<GroupThing>(info, 0)->set_pause(number_or_never(info[1], "round"));
  return info.Env().Undefined();
}

Napi::Value set_end(const Info& info) {
  thing<GroupThing>(info, 0)->set_end(number_or_never(info[1], "iterations"));
  return info.Env().Undefined();
}

Napi::Value stop(const Info& info) {
  thing<GroupThing>(info, 0)->stop();
  return info.Env().Undefined();
}

Napi::Value group_status(const Info& info) {
  const GroupStatus status = thing<GroupThing>(info, 0)->status();
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
  const std::vector<float> losses = thing<GroupThing>(info, 0)->losses(js::integer(info[1], "fromIteration"));
  return js::new_numbers(info.Env(), Type::f32, losses.size(),
                         [&](std::byte* out) { std::memcpy(out, losses.data(), losses.size() * sizeof(float)); });
}

Napi::Value read_central(const Info& info) {
  const auto group = thing<GroupThing>(info, 0);
  return js::new_numbers(info.Env(), group->layout().type(), group->layout().elements,
                         [&](std::byte* canonical) { group->read_central(canonical); });
}

Napi::Value write_central(const Info& info) {
  const auto group = thing<GroupThing>(info, 0);
  group->write_central(js::numbers(info[1], "weights", group->layout().type(), group->layout().elements));
  return info.Env().Undefined();
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
  add("createProgram", guarded<create_program>);
  add("createGroup", guarded<create_group>);
  add("createReplica", guarded<create_replica>);
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
  add("writeCentral", guarded<write_central>);
  add("measurePeak", guarded<measure_peak>);
  return exports;
}

}  // namespace

NODE_API_MODULE(arbalest, initialise)

}  // namespace arbalest
