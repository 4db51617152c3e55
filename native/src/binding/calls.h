// The basis of the addon's calls: finds the objects of handles, and turns C++ exceptions into JavaScript errors with their code.
#pragma once

#include <napi.h>

#include <cfenv>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "binding/values.h"
#include "core/error.h"
#include "core/handles.h"

namespace arbalest {

using Info = Napi::CallbackInfo;

inline Holder& holder(const Info& info) { return *info.Env().GetInstanceData<Holder>(); }

template <class T> Napi::Value handle(const Info& info, std::shared_ptr<T> pointer) {
  return Napi::Number::New(info.Env(), static_cast<double>(holder(info).add(std::move(pointer))));
}

// The object that a handle stands for. Throws STALE_HANDLE.
template <class T> std::shared_ptr<T> object_of(const Info& info, const Napi::Value& handle, const char* what = T::kKind) {
  return holder(info).get<T>(static_cast<Handle>(js::integer(handle, what)));
}

template <class T> std::shared_ptr<T> object_of(const Info& info, size_t argument) { return object_of<T>(info, info[argument]); }

// The number of one of a replica's programs: the argument after the replica.
inline int slot(const Info& info) { return js::small(info[1], "slot"); }

// Kernels make their thread flush denormal numbers to zero. JavaScript's arithmetic on that thread must not.
class CallerFloatingPoint {
 public:
  CallerFloatingPoint() { std::fegetenv(&environment_); }
  ~CallerFloatingPoint() { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_;
};

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
  } catch (const std::system_error& error) {
    const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
    if (no_thread) code = "LIMIT_REACHED";
    message = no_thread ? "threads: the system allows no more: raise the limit (ulimit -u, or pids of the container), or use fewer learners"
                        : error.what();
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    message = error.what();
  }
  Napi::Error error = Napi::Error::New(info.Env(), message);
  error.Set("code", code);
  throw error;
}

template <Napi::Value (*call)(const Info&)> void add(Napi::Object& addon, const char* name) {
  addon.Set(name, Napi::Function::New(addon.Env(), guarded<call>, name));
}

// Each is one file.
void add_machine_calls(Napi::Object& addon);
void add_data_calls(Napi::Object& addon);
void add_lease_calls(Napi::Object& addon);
void add_replica_calls(Napi::Object& addon);
void add_value_calls(Napi::Object& addon);
void add_group_calls(Napi::Object& addon);
void add_hosts_calls(Napi::Object& addon);
void add_memory_calls(Napi::Object& addon);
void add_snapshot_calls(Napi::Object& addon);

}  // namespace arbalest
