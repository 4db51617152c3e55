// The memory that a run will take, before any of it is allocated.
#include "binding/calls.h"
#include "binding/group_values.h"
#include "binding/objects.h"
#include "device/backends.h"
#include "sync/memory_count.h"
#include "transport/make_levels.h"

namespace arbalest {
namespace {

Napi::Value number_of(Napi::Env env, size_t bytes) { return Napi::Number::New(env, static_cast<double>(bytes)); }

CountedMove counted_move(const Napi::Value& value) {
  if (value.IsUndefined()) return CountedMove::none;
  const std::string moved = js::string(value, "moved");
  if (moved == "states") return CountedMove::states;
  if (moved == "all") return CountedMove::all;
  throw Error("INVALID_OPTION", "moved: received " + moved + "; use states or all");
}

Napi::Value count(const Info& info) {
  const Napi::Object from = js::object(info[0], "memory");
  const Napi::Value group = js::property(from, "group");
  const auto handles = js::list(js::property(from, "programs"), "programs",
                                [&](const Napi::Value& program) { return object_of<ProgramObject>(info, program); });
  std::vector<const Program*> programs;
  for (const auto& program : handles) programs.push_back(program.get());
  std::optional<GroupSpec> spec;
  if (!group.IsUndefined()) spec = js::group_spec(js::object(group, "group"), holder(info));
  const MemoryCount count =
      count_memory(backend_named(js::string(from, "backend")), spec, programs, counted_move(js::property(from, "moved")));

  const Napi::Env env = info.Env();
  Napi::Object replica = Napi::Object::New(env);
  replica.Set("weights", number_of(env, count.replica.weights));
  replica.Set("gradients", number_of(env, count.replica.gradients));
  replica.Set("optimiser", number_of(env, count.replica.optimiser));
  replica.Set("statistics", number_of(env, count.replica.statistics));
  replica.Set("activations", number_of(env, count.replica.activations));
  Napi::Array devices = Napi::Array::New(env, count.group.size());
  for (uint32_t device = 0; device < count.group.size(); ++device) devices.Set(device, number_of(env, count.group[device]));
  Napi::Object result = Napi::Object::New(env);
  result.Set("group", devices);
  result.Set("contribution", number_of(env, count.contribution));
  result.Set("recording", number_of(env, count.recording));
  result.Set("replica", replica);
  result.Set("snapshot", number_of(env, count.snapshot));
  result.Set("update", number_of(env, count.update));
  result.Set("windows", number_of(env, count.windows));
  result.Set("learnerWindows", number_of(env, count.learner_windows));
  result.Set("copyWindows", number_of(env, count.copy_windows));
  return result;
}

// Of the first `devices` devices; of one where all share the machine's memory.
Napi::Value watch(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  const int devices = backend.capabilities().own_memory ? js::small(info[1], "devices") : 1;
  check_devices(backend, devices);
  auto watch = std::make_shared<MemoryWatchObject>();
  for (int device = 0; device < devices; ++device)
    watch->devices.push_back(std::make_unique<AllocationWatch>(backend.device(device).meter()));
  return handle(info, std::move(watch));
}

Napi::Value peak(const Info& info) {
  size_t most = 0;
  for (const auto& device : object_of<MemoryWatchObject>(info, info[0])->devices) most = std::max(most, device->peak());
  return number_of(info.Env(), most);
}

}  // namespace

void add_memory_calls(Napi::Object& addon) {
  add<count>(addon, "countMemory");
  add<watch>(addon, "watchMemory");
  add<peak>(addon, "peakMemory");
}

}  // namespace arbalest
