#include "cuda/device/nvrtc.h"

#include <nvrtc.h>

#include "cuda/device/dynamic_library.h"

namespace arbalest::cuda {
namespace {

std::string open() {
  static const DynamicLibrary nvrtc("NVRTC", "libnvrtc.so.13", "cu13");
  decltype(&nvrtcVersion) get;
  nvrtc.find(get, "nvrtcVersion");
  int major = 0, minor = 0;
  get(&major, &minor);
  const std::string version = std::to_string(major) + "." + std::to_string(minor);
  // NVRTC opens these by name, and the one of a wheel does not search its own folder: every compilation would fail, and cuDNN would
  // silently omit the engines that it compiles.
  static const DynamicLibrary builtins("NVRTC's own library", "libnvrtc-builtins.so." + version, "cu13");
  return version;
}

}  // namespace

const std::string& open_nvrtc() {
  static const std::string version = open();
  return version;
}

}  // namespace arbalest::cuda
