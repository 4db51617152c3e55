#include "cpu/processor.h"

#include <array>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace arbalest {
namespace {

// The number of each set has the bits of the sets that it extends. On another architecture the same bits mean other sets.
bool onednn_has([[maybe_unused]] dnnl_cpu_isa_t isa) {
#if defined(__x86_64__)
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & isa) == isa;
#else
  return false;
#endif
}

}  // namespace

std::string_view onednn_instruction_set() {
  static constexpr std::array<std::pair<dnnl_cpu_isa_t, std::string_view>, 6> kSets{{{dnnl_cpu_isa_avx512_core_amx, "avx512_amx"},
                                                                                     {dnnl_cpu_isa_avx512_core_bf16, "avx512_bf16"},
                                                                                     {dnnl_cpu_isa_avx512_core_vnni, "avx512_vnni"},
                                                                                     {dnnl_cpu_isa_avx512_core, "avx512"},
                                                                                     {dnnl_cpu_isa_avx2, "avx2"},
                                                                                     {dnnl_cpu_isa_sse41, "sse41"}}};
  for (const auto& [isa, name] : kSets) {
    if (onednn_has(isa)) return name;
  }
  return "generic";
}

bool computes_bf16() { return onednn_has(dnnl_cpu_isa_avx512_core_bf16); }

std::vector<std::string_view> kernel_instruction_sets() {
  std::vector<std::string_view> sets;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (avx512) sets.push_back("avx512");
  if (avx2) sets.push_back("avx2");
#endif
  sets.push_back("generic");
  return sets;
}

void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | (uint64_t{1} << 24)));
#endif
}

}  // namespace arbalest
