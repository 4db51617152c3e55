// The exports of a kernel library: our own operators and the passes over parameter vectors, compiled for one instruction set.
// The CPU backend opens the library that suits the processor, once, and never closes it: kernels are code of that library.
#pragma once

#include <memory>

#include "device/backend.h"

namespace arbalest {

struct KernelLibrary {
  const char* instruction_set;
  // Channels of a block in the best layout for this instruction set: 8 for nChw8c, 16 for nChw16c.
  int block;
  // Answers a lowering request; false if the library has no such operator. Throws INVALID_PROGRAM if shapes, types or attributes disagree.
  bool (*lower)(const LoweringRequest& request, LoweringAnswer& answer);
  // The kernel of an operator; null if the library has no such operator.
  std::unique_ptr<Kernel> (*make)(const OperatorSpec& spec);
  // f32 only.
  void (*optimise)(const OptimiserPass& pass);
  void (*optimise_and_average)(std::span<const OptimiserPass> steps, const AveragePass& sum);
  void (*average)(const AveragePass& pass);
  void (*blend)(const BlendPass& pass);
  double (*squares)(Type type, const void* vector, size_t begin, size_t end);
  // Floating-point operations a second that one thread sustains in fused multiply-adds. Takes about 100 ms.
  double (*measure_peak)();
};

}  // namespace arbalest

extern "C" {
// The entry's name and type, for dlsym: `const arbalest::KernelLibrary* arbalest_kernels()`.
using ArbalestKernelsEntry = const arbalest::KernelLibrary* (*)();
__attribute__((visibility("default"))) const arbalest::KernelLibrary* arbalest_kernels();
}
