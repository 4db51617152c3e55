// Code that runs on the GPU and, compiled by any C++ compiler, in the plain loops of the stand-in that the tests use.
#pragma once

#if defined(__CUDACC__)
#define EVERYWHERE __host__ __device__
#else
#define EVERYWHERE
#endif

// The next loop's body `times` over, so that its reads are under way together; and as often as it runs.
#if defined(__CUDA_ARCH__)
#define ARBALEST_PRAGMA(words) _Pragma(#words)
#define UNROLLED(times) ARBALEST_PRAGMA(unroll times)
#define WHOLLY_UNROLLED _Pragma("unroll")
#else
#define UNROLLED(times)
#define WHOLLY_UNROLLED
#endif
