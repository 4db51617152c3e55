#include "backends.h"

#include <dlfcn.h>

#include <mutex>

namespace arbalest {
namespace {

std::string folder_of_this_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  return path.substr(0, path.find_last_of('/'));
}

// A library stays open until the process ends: kernels made by it may be running in any thread.
void* cpu_library() {
  static std::mutex mutex;
  static void* library = nullptr;
  const std::lock_guard lock(mutex);
  if (!library) {
    const std::string path = folder_of_this_library() + "/libarbalest-cpu.so";
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw Error("BACKEND_UNAVAILABLE",
                  std::string("backend cpu: ") + dlerror() + "; run `npm run setup`, which installs oneDNN and builds it");
  }
  return library;
}

template <class Function> Function symbol(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (!address) throw Error("BACKEND_UNAVAILABLE", std::string("backend cpu: its library has no ") + name + "; run `npm run build:native`");
  return reinterpret_cast<Function>(address);
}

}  // namespace

Backend& backend_named(const std::string& name) {
  if (name != "cpu" && name != "reference") throw Error("UNKNOWN_NAME", "backend: received " + name + "; use one of cpu, reference");
  Backend* backend = symbol<ArbalestBackendEntry>(cpu_library(), "arbalest_backend")(name.c_str());
  if (!backend) throw Error("BACKEND_UNAVAILABLE", "backend " + name + ": its library does not offer it");
  return *backend;
}

LibraryReport about_cpu_library() {
  try {
    return {true, symbol<ArbalestBackendAbout>(cpu_library(), "arbalest_backend_about")()};
  } catch (const Error& error) {
    return {false, error.what()};
  }
}

}  // namespace arbalest
