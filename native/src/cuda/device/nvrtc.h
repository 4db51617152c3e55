#pragma once

#include <string>

namespace arbalest::cuda {

// Opens the compiler that cuDNN uses for some of its engines, once for the process. Throws BACKEND_UNAVAILABLE. Returns its version, such
// as "13.0".
const std::string& open_nvrtc();

}  // namespace arbalest::cuda
