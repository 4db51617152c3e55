#include "core/heap.h"

#ifdef __linux__
#include <features.h>
#endif

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace arbalest {

#ifdef __GLIBC__
namespace {
// The C library's own, until something large is freed: then it keeps up to 64 MiB in each of its arenas, one a thread.
constexpr int kKept = 128 * 1024;
}  // namespace

void trim_heap() {
  mallopt(M_TRIM_THRESHOLD, kKept);
  malloc_trim(0);
}
#else
void trim_heap() {}
#endif

}  // namespace arbalest
