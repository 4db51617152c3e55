// Libraries of our own that lie beside the engine's, each opened when it is first asked for. A missing one matters only to programs that
// use it.
#pragma once

#include <string>

namespace arbalest {

struct OwnLibrary {
  std::string what;       // in messages: "backend cuda"
  const char* file;       // libarbalest-cuda.so
  const char* fix;        // how to get it where it is missing
  const char* interface;  // its function that tells from which interface it was built
  const char* expected;   // what that function must return: a library of other sources has other virtual tables
  bool global = false;    // its symbols are found by libraries that are opened later
};

// The address of one of its functions. Opens the library unless it is open; it stays open until the process ends, since its code may be
// running in any thread. Throws BACKEND_UNAVAILABLE with the reason and the fix.
void* symbol_of(const OwnLibrary& library, const char* name);

}  // namespace arbalest
