// What a kernel library exports: our own operators and the passes over parameter vectors, compiled for one instruction set.
// The CPU backend opens the library that suits the processor, once, and never closes it: kernels are code of that library.
#pragma once

#include <memory>

#include "device/backend.h"

namespace arbalest {

struct KernelLibrary {
  const char* instruction_set;
  // Channels of a block in the layout that suits this instruction set best: 8 for nChw8c, 16 for nChw16c.
  int block;
  // How an operator would be run; false where it is none of ours. Throws INVALID_PROGRAM where shapes, types or attributes disagree.
  bool (*lower)(const LoweringRequest& request, LoweringAnswer& answer);
  // The operator made ready; null where it is none of ours.
  std::unique_ptr<Kernel> (*make)(const OperatorSpec& spec);
  // f32 only.
  void (*optimise)(const OptimiserPass& pass);
  void (*average)(const AveragePass& pass);
  void (*blend)(const BlendPass& pass);
  double (*squares)(Type type, const void* vector, size_t begin, size_t end);
  // Sustained floating-point operations a second of one thread's fused multiply-adds, measured for about 100 ms.
  double (*measure_peak)();
};

}  // namespace arbalest

extern "C" {
// The entry's name and type, for dlsym: `const arbalest::KernelLibrary* arbalest_kernels()`.
using ArbalestKernelsEntry = const arbalest::KernelLibrary* (*)();
__attribute__((visibility("default"))) const arbalest::KernelLibrary* arbalest_kernels();
}
