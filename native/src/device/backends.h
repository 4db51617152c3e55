// Opens backend libraries when a program first asks for one; a machine that lacks one never notices.
#pragma once

#include <string>

#include "device/backend.h"

namespace arbalest {

// "cpu", "reference", "cuda", or "cuda-host", the stand-in for tests. Throws BACKEND_UNAVAILABLE with the loader's words and the mend,
// UNKNOWN_NAME for anything else.
Backend& backend_named(const std::string& name);

// That of one of its devices. Throws INVALID_OPTION where there is none of this number.
Backend& backend_named(const std::string& name, int device);

// One line of JSON about the library of a backend, or the reason why it cannot be opened.
struct LibraryReport {
  bool available = false;
  std::string detail;
};
LibraryReport about_library_of(const std::string& backend);

}  // namespace arbalest
