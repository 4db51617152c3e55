#include "device/backends.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <string_view>

#include "interface_hash.h"

namespace arbalest {
namespace {

// The library of a backend, and how to get it if it is missing.
struct Source {
  const char* library;
  const char* fix;
};

const Source kCpu{"libarbalest-cpu.so", "run `npx arbalest setup`, which installs oneDNN and builds it"};
const Source kCuda{"libarbalest-cuda.so", "run `npx arbalest setup --cuda`"};
const Source kCudaHost{"libarbalest-cuda-host.so", "run `npm run build:native`"};

const Source& source_of(const std::string& backend) {
  if (backend == "cpu" || backend == "reference") return kCpu;
  if (backend == "cuda") return kCuda;
  if (backend == "cuda-host") return kCudaHost;
  throw Error("UNKNOWN_NAME", "backend: received " + backend + "; use one of cpu, cuda, reference");
}

std::string folder_of_this_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  return path.substr(0, path.find_last_of('/'));
}

// A library that was built from other sources has other virtual tables.
void check_interface(void* library, const std::string& backend, const Source& source) {
  const auto interface = reinterpret_cast<ArbalestBackendInterface>(dlsym(library, "arbalest_backend_interface"));
  if (interface && std::string_view(interface()) == ARBALEST_INTERFACE) return;
  throw Error("BACKEND_UNAVAILABLE",
              "backend " + backend + ": " + source.library + " was built from other sources than the engine beside it; " + source.fix);
}

// A library stays open until the process ends: kernels made by it may be running in any thread.
void* opened(const std::string& backend) {
  static std::mutex mutex;
  static std::map<std::string, void*> libraries;
  const Source& source = source_of(backend);
  const std::lock_guard lock(mutex);
  void*& library = libraries[source.library];
  const std::string path = folder_of_this_library() + "/" + source.library;
  if (!library && access(path.c_str(), R_OK) != 0)
    throw Error("BACKEND_UNAVAILABLE", "backend " + backend + ": it is not built on this machine; " + source.fix);
  if (library) return library;
  void* const found = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!found) throw Error("BACKEND_UNAVAILABLE", "backend " + backend + ": " + dlerror() + "; " + source.fix);
  check_interface(found, backend, source);
  return library = found;
}

template <class Function> Function symbol(const std::string& backend, const char* name) {
  void* address = dlsym(opened(backend), name);
  if (!address) throw Error("BACKEND_UNAVAILABLE", "backend " + backend + ": its library has no " + name + "; build it again");
  return reinterpret_cast<Function>(address);
}

}  // namespace

Backend& backend_named(const std::string& name) {
  Backend* backend = symbol<ArbalestBackendEntry>(name, "arbalest_backend")(name.c_str());
  if (!backend) throw Error("BACKEND_UNAVAILABLE", "backend " + name + ": its library does not offer it");
  return *backend;
}

Backend& backend_named(const std::string& name, int device) {
  Backend& first = backend_named(name);
  const int count = first.device_count();
  if (device >= 0 && device < count) return first.device(device);
  throw Error("INVALID_OPTION", "device: received " + std::to_string(device) + "; backend " + name + " has " + std::to_string(count) +
                                    (count == 1 ? " device" : " devices") + " here: give a number from 0 to below that");
}

double processor_peak() { return symbol<ArbalestProcessorPeak>("cpu", "arbalest_processor_peak")(); }

LibraryReport about_library_of(const std::string& backend) {
  try {
    return {true, symbol<ArbalestBackendAbout>(backend, "arbalest_backend_about")()};
  } catch (const Error& error) {
    return {false, error.what()};
  }
}

}  // namespace arbalest
