#pragma once

#include <string>

namespace arbalest::cuda {

// One line of JSON for `arbalest doctor`: devices with their memory, the driver, and the libraries with their versions or the reasons why
// they are missing. Throws nothing.
std::string about();

}  // namespace arbalest::cuda
