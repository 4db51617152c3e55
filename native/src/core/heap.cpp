#include "core/heap.h"

#ifdef __linux__
#include <features.h>
#endif

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace arbalest {

#ifdef __GLIBC__
void trim_heap() { malloc_trim(0); }
#else
void trim_heap() {}
#endif

}  // namespace arbalest
