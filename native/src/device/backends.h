// Opens the library of a backend when the backend is first asked for. A missing library matters only to programs that use its backend.
#pragma once

#include <string>

#include "device/backend.h"

namespace arbalest {

// "cpu", "reference", "cuda", or "cuda-host", the stand-in for tests: its first device. Throws BACKEND_UNAVAILABLE with the loader's
// message and the fix, and UNKNOWN_NAME for any other name.
Backend& backend_named(const std::string& name);

// The device of this number. Throws INVALID_OPTION if there is none.
Backend& backend_named(const std::string& name, int device);

// One line of JSON about the library of a backend, or the reason why it cannot be opened.
struct LibraryReport {
  bool available = false;
  std::string detail;
};
LibraryReport about_library_of(const std::string& backend);

// Floating-point operations a second that one thread sustains in fused multiply-adds. Takes about 100 ms.
double processor_peak();

}  // namespace arbalest
