// Code that runs on the GPU and, compiled by any C++ compiler, in the plain loops of the stand-in that the tests use.
#pragma once

#if defined(__CUDACC__)
#define EVERYWHERE __host__ __device__
#else
#define EVERYWHERE
#endif
