// Which elements dropout keeps, and which samples stochastic depth does: recomputed by forward and backward from the sample's position,
// never stored.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace arbalest {

// One sample's mask. `element` counts in canonical order within the sample, so the mask does not depend on the layout.
class DropoutMask {
 public:
  constexpr DropoutMask(uint64_t seed, uint64_t position, uint64_t stream, float rate)
      : seed_(seed), position_(position), stream_((kFirstOperator + stream) << 32), rate_(rate) {}

  // Elements 4 * group to 4 * group + 3: bit i is set where element 4 * group + i is kept.
  constexpr unsigned keeps4(uint64_t group) const {
    const Random4 r = philox(seed_, position_, stream_ | group);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 4; ++lane) bits |= static_cast<unsigned>(uniform(r[lane]) >= rate_) << lane;
    return bits;
  }

  constexpr bool keeps(uint64_t element) const { return (keeps4(element / 4) >> (element % 4)) & 1u; }
  constexpr bool keeps_sample() const { return keeps(0); }

 private:
  uint64_t seed_, position_, stream_;
  float rate_;
};

}  // namespace arbalest
