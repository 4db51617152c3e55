#include "device/backends.h"

#include "core/own_library.h"
#include "interface_hash.h"

namespace arbalest {
namespace {

OwnLibrary library_of(const std::string& backend) {
  const auto library = [&](const char* file, const char* fix) {
    return OwnLibrary{"backend " + backend, file, fix, "arbalest_backend_interface", ARBALEST_INTERFACE};
  };
  if (backend == "cpu" || backend == "reference")
    return library("libarbalest-cpu.so", "run `npx arbalest setup`, which installs oneDNN and builds it");
  if (backend == "cuda") return library("libarbalest-cuda.so", "run `npx arbalest setup --cuda`");
  if (backend == "cuda-host") return library("libarbalest-cuda-host.so", "run `npm run build:native`");
  throw Error("UNKNOWN_NAME", "backend: received " + backend + "; use one of cpu, cuda, reference");
}

template <class Function> Function symbol(const std::string& backend, const char* name) {
  return reinterpret_cast<Function>(symbol_of(library_of(backend), name));
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
