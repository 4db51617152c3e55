#pragma once

#include <condition_variable>

// GCC 12 gave `wait` a new version of its symbol. The one of before is in every libstdc++, so that an engine that is built here also runs
// where glibc is new enough and libstdc++ is of GCC 11 (RHEL 9).
#if defined(__GLIBCXX__) && defined(__x86_64__) && !defined(__CUDACC__)
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif
