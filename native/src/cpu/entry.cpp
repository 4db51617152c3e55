// The exports of libarbalest-cpu.so; see backend.h.
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>

#include "cpu/cpu_backend.h"
#include "cpu/kernel_library.h"
#include "cpu/processor.h"
#include "cpu/reference/reference.h"
#include "interface_hash.h"

namespace {

std::string about() {
  const dnnl_version_t* const version = dnnl_version();
  const std::string number = std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
  return R"({"onednn":")" + number + R"(","instructionSet":")" + std::string(arbalest::onednn_instruction_set()) + R"(","kernels":")" +
         std::string(arbalest::kernel_instruction_sets().front()) + R"(","precisions":["f32")" +
         (arbalest::computes_bf16() ? R"(,"bf16")" : "") + "]}";
}

}  // namespace

extern "C" __attribute__((visibility("default"))) arbalest::Backend* arbalest_backend(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (wanted == "cpu") return arbalest::cpu_backend();
  if (wanted == "reference") return arbalest::reference_backend();
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_about() {
  static const std::string text = about();
  return text.c_str();
}

extern "C" __attribute__((visibility("default"))) const char* arbalest_backend_interface() { return ARBALEST_INTERFACE; }

extern "C" __attribute__((visibility("default"))) double arbalest_processor_peak() { return arbalest::kernel_library().measure_peak(); }
