// The interface between the engine and the libraries that compute. A caller takes the part that it uses:
//   Operators     lower, bytes, make, reorder
//   VectorPasses  optimise, average, optimise_and_average, blend, squares, piece
//   DeviceMemory  allocate, release, reserve, free_memory, copy, zero, read, write, read_together, host_tier
//   Streams       stream, use_stream, mark, queue_after, synchronise, begin, bring, record_kernels, readback
//   Backend       all of these, for one device, and the devices beside it
// A backend whose work is done when a call returns derives from ImmediateBackend (immediate_backend.h), which has no streams.
#pragma once

#include <memory>

#include "core/error.h"
#include "device/capabilities.h"
#include "device/collective.h"
#include "device/device_memory.h"
#include "device/operators.h"
#include "device/stream.h"
#include "device/vector_passes.h"

namespace arbalest {

// More than any machine has.
inline constexpr int kMostDevices = 1024;

// One device of a backend. Its functions may be called by many threads at once.
class Backend : public Operators, public VectorPasses, public DeviceMemory, public Streams {
 public:
  // The same for all devices of a backend.
  virtual Capabilities capabilities() const = 0;

  // The number of devices, this one included. Groups of cores are all one Backend over the machine's memory: there may be kMostDevices of
  // them.
  virtual int device_count() = 0;
  // The device of this number, which is below device_count(). It is made when it is first asked for.
  virtual Backend& device(int number) = 0;
  // Sums over the memories of the first `devices` devices, each of which is one rank, and over those of as many devices of each of the
  // other processes, if there are any: they meet in the first sum. Null where all devices share one memory. Throws BACKEND_UNAVAILABLE if
  // the library that makes the sums is missing.
  virtual std::unique_ptr<Collective> collective(int devices, std::shared_ptr<Peers> peers) = 0;

  // The calling thread runs kernels with this many threads from now on.
  virtual void use_threads(int threads) = 0;
};

}  // namespace arbalest

// The exports of a backend library. `name` is "cpu" or "reference" in the CPU library. The first function returns the first device, which
// lives as long as the process; null for a name that the library does not have. The first and the last throw BACKEND_UNAVAILABLE if
// something that the library itself needs is missing.
extern "C" {
using ArbalestBackendEntry = arbalest::Backend* (*)(const char* name);
using ArbalestBackendInterface = const char* (*)();  // a hash of this file and of all that it includes, taken when the library was built
using ArbalestBackendAbout = const char* (*)();      // one line of JSON: library versions and features of the device, for `arbalest doctor`
// Of the CPU library alone: floating-point operations a second that one thread sustains in fused multiply-adds. Takes about 100 ms.
using ArbalestProcessorPeak = double (*)();
}
