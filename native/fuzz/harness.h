// What every harness is: any bytes are refused with a code, or worked through. With ARBALEST_FUZZ_TELL in the environment it says which.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "input.h"

namespace arbalest::fuzz {

// Of each harness.
void run(Input& input);

}  // namespace arbalest::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool tells = std::getenv("ARBALEST_FUZZ_TELL") != nullptr;
  arbalest::fuzz::Input input(data, size);
  try {
    arbalest::fuzz::run(input);
    if (tells) std::fprintf(stderr, "taken\n");
  } catch (const arbalest::Error& error) {
    if (tells) std::fprintf(stderr, "%s: %s\n", error.code().c_str(), error.what());
  }
  return 0;
}
