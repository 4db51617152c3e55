// The exports of libarbalest-cuda.so; see backend.h.
#include <string>
#include <string_view>

#include "cuda/device/about.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/settings.h"
#include "interface_hash.h"

extern "C" __attribute__((visibility("default"))) arbalest::Backend* arbalest_backend(const char* name) {
  if (std::string_view(name ? name : "") != "cuda") return nullptr;
  arbalest::cuda::read_settings();
  return arbalest::cuda::cuda_backend(0);
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_about() {
  thread_local std::string text;
  text = arbalest::cuda::about();
  return text.c_str();
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_interface() { return ARBALEST_INTERFACE; }
