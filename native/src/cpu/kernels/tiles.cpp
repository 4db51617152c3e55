#include "cpu/kernels/tiles.h"

#if defined(__AVX512BF16__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace arbalest::kernels {

bool has_tiles() {
#if defined(__AVX512BF16__)
  // Linux gives a process the tiles when it asks for them.
  static const bool has = [] {
    constexpr int kAskForPermission = 0x1023, kTileData = 18;
    return __builtin_cpu_supports("amx-bf16") && syscall(SYS_arch_prctl, kAskForPermission, kTileData) == 0;
  }();
  return has;
#else
  return false;
#endif
}

}  // namespace arbalest::kernels
