#include "cuda/device/dynamic_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace arbalest::cuda {
namespace {

std::string folder_of_this_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  return path.substr(0, path.find_last_of('/'));
}

// Folders that may contain the library, in installed toolkits and in wheels; "" is the loader's own choice.
std::vector<std::string> folders_of(const std::string& package) {
  std::vector<std::string> roots;
  if (const char* given = std::getenv("ARBALEST_CUDA_PATH")) {
    std::istringstream list(given);
    for (std::string root; std::getline(list, root, ':');)
      if (!root.empty()) roots.push_back(root);
  }
  // From native/build/Release; beside an engine that npm brought scripts/build-cuda.js leaves a link.
  for (const char* const own : {"/../../../.cuda", "/.cuda"}) roots.push_back(folder_of_this_library() + own);
  std::vector<std::string> folders;
  for (const std::string& root : roots)
    for (const std::string& below : {std::string("/nvidia/" + package + "/lib"), std::string("/" + package + "/lib"), std::string("/lib64"),
                                     std::string("/lib"), std::string()})
      folders.push_back(root + below + "/");
  folders.emplace_back();
  return folders;
}

}  // namespace

DynamicLibrary::DynamicLibrary(const std::string& what, const std::string& file, const std::string& package) : what_(what) {
  std::string refused;
  for (const std::string& folder : folders_of(package)) {
    const std::string path = folder + file;
    // Global: cuDNN's own parts look for cuBLASLt and NVRTC among the open libraries.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle_) return;
    if (const char* const why = dlerror(); why && refused.empty() && access(path.c_str(), F_OK) == 0) refused = why;
  }
  if (!refused.empty())
    throw Error("BACKEND_UNAVAILABLE", "backend cuda: " + what + " is there and cannot be opened (" + refused +
                                           "); run `npx arbalest setup --cuda`, or name another folder in ARBALEST_CUDA_PATH");
  throw Error("BACKEND_UNAVAILABLE",
              "backend cuda: " + what + " (" + file +
                  ") is not to be found; run `npx arbalest setup --cuda`, or name the folder that has it in ARBALEST_CUDA_PATH");
}

void* DynamicLibrary::address_of(const char* name) const {
  if (void* address = dlsym(handle_, name)) return address;
  throw Error("BACKEND_UNAVAILABLE", "backend cuda: " + what_ + " has no " + name + "; it is too old, run `npx arbalest setup --cuda`");
}

}  // namespace arbalest::cuda
