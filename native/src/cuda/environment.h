#pragma once

#include <cstdlib>
#include <string_view>

namespace arbalest::cuda {

inline bool is_set(const char* variable, std::string_view value) {
  const char* const given = std::getenv(variable);
  return given && given == value;
}

}  // namespace arbalest::cuda
