// The exports of libarbalest-cuda.so; see backend.h.
#include <string>
#include <string_view>

#include "cuda/device/about.h"
#include "cuda/device/cuda_backend.h"
#include "interface_hash.h"

extern "C" __attribute__((visibility("default"))) arbalest::Backend* arbalest_backend(const char* name) {
  return std::string_view(name ? name : "") == "cuda" ? arbalest::cuda::cuda_backend(0) : nullptr;
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_about() {
  thread_local std::string text;
  text = arbalest::cuda::about();
  return text.c_str();
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_interface() { return ARBALEST_INTERFACE; }
