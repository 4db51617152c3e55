// The machine and its backends: what they can do, their memory, and how they run an operator.
#include <cstring>

#include "binding/calls.h"
#include "binding/group_values.h"
#include "binding/lowering_values.h"
#include "binding/tier_values.h"
#include "binding/typed_arrays.h"
#include "core/cores.h"
#include "core/file_lock.h"
#include "core/heap.h"
#include "device/backends.h"
#include "device/transfer_rates.h"
#include "transport/link.h"
#include "transport/make_levels.h"

namespace arbalest {
namespace {

Napi::Value described(const Info& info, bool available, const std::string& detail) {
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("available", available);
  result.Set("detail", detail);
  return result;
}

Napi::Value describe(const Info& info) {
  const LibraryReport report = about_library_of(js::string(info[0], "backend"));
  return described(info, report.available, report.detail);
}

Napi::Value describe_mpi(const Info& info) {
  const LinkLibraryReport report = about_mpi_link();
  return described(info, report.available, report.detail);
}

Napi::Value capabilities(const Info& info) {
  const Capabilities found = backend_named(js::string(info[0], "backend")).capabilities();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("usesCores", found.uses_cores);
  result.Set("memory", found.own_memory ? "device" : "machine");
  result.Set("streams", found.streams);
  result.Set("recording", found.recording);
  result.Set("asynchronousRules", found.asynchronous_rules);
  result.Set("reordersTogether", found.reorders_together);
  result.Set("layoutsOfAnyType", found.layouts_of_any_type);
  return result;
}

Napi::Value lower(const Info& info) {
  Operators& backend = backend_named(js::string(info[0], "backend"));
  return js::lowering_answer(info.Env(), backend, backend.lower(js::lowering_request(info[1])));
}

Napi::Value bytes(const Info& info) {
  const TensorSpec spec{js::type(js::string(info[2], "type")), js::shape(info[1], "shape"), js::string(info[3], "layout")};
  return Napi::Number::New(info.Env(), static_cast<double>(backend_named(js::string(info[0], "backend")).bytes(spec)));
}

// The least of `devices` devices, from the number `first` on. Undefined if they use the machine's memory.
Napi::Value free_memory(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  const int devices = js::small(info[1], "devices"), first = js::small(info[2], "first");
  check_devices(backend, first + devices);
  std::optional<size_t> least;
  for (int device = first; device < first + devices; ++device) {
    const std::optional<size_t> bytes = backend.device(device).free_memory();
    if (bytes) least = std::min(*bytes, least.value_or(*bytes));
  }
  return least ? Napi::Number::New(info.Env(), static_cast<double>(*least)) : info.Env().Undefined();
}

// On each of the first `devices` devices.
Napi::Value reserve(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  const int devices = js::small(info[1], "devices");
  const int64_t bytes = js::integer(info[2], "bytes");
  check_devices(backend, devices);
  if (bytes < 1) throw Error("INVALID_OPTION", "bytes: received " + std::to_string(bytes) + "; give a number above 0");
  for (int device = 0; device < devices; ++device) backend.device(device).reserve(static_cast<size_t>(bytes));
  return info.Env().Undefined();
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

Napi::Value lock_open_file(const Info& info) {
  switch (lock_file(js::small(info[0], "descriptor"))) {
    case FileLocking::kTaken: return Napi::String::New(info.Env(), "taken");
    case FileLocking::kHeld: return Napi::String::New(info.Env(), "held");
    case FileLocking::kUnsupported: break;
  }
  return Napi::String::New(info.Env(), "unsupported");
}

Napi::Value trim(const Info& info) {
  trim_heap();
  return info.Env().Undefined();
}

Napi::Value time_level(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  const int parts = js::small(info[2], "parts");
  const int64_t bytes = js::integer(info[3], "bytes");
  LevelSpec level = js::level_spec(info[1], holder(info));
  // A host without learners has none.
  const int fewest = level.kind == LevelSpec::Kind::hosts ? 0 : 1;
  if (parts < fewest || parts > 1024)
    throw Error("INVALID_OPTION", "parts: received " + std::to_string(parts) + "; give " + std::to_string(fewest) + " to 1024");
  if (bytes < 4 || bytes > int64_t{1} << 40) throw Error("INVALID_OPTION", "bytes: received " + std::to_string(bytes) + "; give 4 to 2^40");
  const int turns = js::small(info[4], "turns");
  if (turns < 1) throw Error("INVALID_OPTION", "turns: received " + std::to_string(turns) + "; give at least 1");
  js::number_level(level);
  const auto seconds = time_level(backend, level, parts, static_cast<size_t>(bytes), turns);
  return js::new_numbers(info.Env(), Type::f64, seconds.size(),
                         [&](std::byte* out) { std::memcpy(out, seconds.data(), seconds.size() * sizeof(double)); });
}

Napi::Value measure_transfers(const Info& info) {
  Backend& backend = backend_named(js::string(info[0], "backend"));
  const int64_t bytes = js::integer(info[1], "bytes");
  if (bytes < 1 || bytes > int64_t{1} << 40) throw Error("INVALID_OPTION", "bytes: received " + std::to_string(bytes) + "; give 1 to 2^40");
  const TransferRates rates = measure_transfers(backend, static_cast<size_t>(bytes), js::host_tier(info[2]));
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("storeBytesPerSecond", rates.store);
  result.Set("fetchBytesPerSecond", rates.fetch);
  return result;
}

Napi::Value measure_peak(const Info& info) { return Napi::Number::New(info.Env(), processor_peak()); }

}  // namespace

void add_machine_calls(Napi::Object& addon) {
  add<describe>(addon, "describe");
  add<describe_mpi>(addon, "describeMpi");
  add<capabilities>(addon, "capabilities");
  add<lower>(addon, "lower");
  add<bytes>(addon, "bytes");
  add<free_memory>(addon, "freeMemory");
  add<reserve>(addon, "reserve");
  add<keep_cores>(addon, "keepToCores");
  add<lock_open_file>(addon, "lockFile");
  add<trim>(addon, "trim");
  add<time_level>(addon, "timeLevel");
  add<measure_transfers>(addon, "measureTransfers");
  add<measure_peak>(addon, "measurePeak");
}

}  // namespace arbalest
