// The label of a position that counts for nothing: not in the loss, its gradient or the number of correct answers. Only one of several
// labels of a sample may be it.
#pragma once

#include <cstdint>

namespace arbalest {

constexpr int32_t kNoClass = -1;

}  // namespace arbalest
