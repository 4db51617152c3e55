#include "core/own_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string_view>

#include "core/error.h"

namespace arbalest {
namespace {

std::string folder_of_this_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  return path.substr(0, path.find_last_of('/'));
}

Error unavailable(const OwnLibrary& library, const std::string& reason) {
  return {"BACKEND_UNAVAILABLE", library.what + ": " + reason + "; " + library.fix};
}

void* opened(const OwnLibrary& library) {
  static std::mutex mutex;
  static std::map<std::string, void*> libraries;
  const std::lock_guard lock(mutex);
  void*& open = libraries[library.file];
  if (open) return open;
  const std::string path = folder_of_this_library() + "/" + library.file;
  if (access(path.c_str(), R_OK) != 0) throw unavailable(library, "it is not built on this machine");
  void* const found = dlopen(path.c_str(), RTLD_NOW | (library.global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!found) throw unavailable(library, dlerror());
  const auto interface = reinterpret_cast<const char* (*)()>(dlsym(found, library.interface));
  if (!interface || std::string_view(interface()) != library.expected)
    throw unavailable(library, std::string(library.file) + " was built from other sources than the engine beside it");
  return open = found;
}

}  // namespace

void* symbol_of(const OwnLibrary& library, const char* name) {
  void* const address = dlsym(opened(library), name);
  if (!address) throw unavailable(library, "its library has no " + std::string(name));
  return address;
}

}  // namespace arbalest
