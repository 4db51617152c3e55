#include "cpu/kernel_library.h"

#include <dlfcn.h>

#include <string>

#include "core/error.h"
#include "cpu/processor.h"

namespace arbalest {
namespace {

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

const KernelLibrary* open_best() {
  std::string failures;
  for (const std::string_view set : kernel_instruction_sets()) {
    const std::string path = own_folder() + "libarbalest-kernels-" + std::string(set) + ".so";
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (const auto entry = reinterpret_cast<ArbalestKernelsEntry>(dlsym(library, "arbalest_kernels"))) return entry();
    }
    const char* reason = dlerror();
    failures += std::string(failures.empty() ? "" : "; ") + (reason != nullptr ? reason : path.c_str());
  }
  throw Error("BACKEND_UNAVAILABLE", "kernel library: none could be opened (" + failures + "); build the native code again");
}

}  // namespace

const KernelLibrary& kernel_library() {
  static const KernelLibrary* const library = open_best();
  return *library;
}

}  // namespace arbalest
