// The length of a sequence that a padded tensor has: how many of its positions count.
#pragma once

#include <algorithm>
#include <cstdint>

namespace arbalest {

// Of `most` positions. What is no length counts as none.
template <class T> int64_t length_of(T given, int64_t most) {
  return given > 0 ? std::min(static_cast<int64_t>(std::min(given, static_cast<T>(most))), most) : 0;
}

}  // namespace arbalest
