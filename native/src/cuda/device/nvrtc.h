#pragma once

#include <string>

namespace arbalest::cuda {

// Opens the compiler that cuDNN makes some of its engines with, once for the process. Throws BACKEND_UNAVAILABLE. Returns its version, such
// as "13.0".
const std::string& open_nvrtc();

}  // namespace arbalest::cuda
