// bfloat16 as storage: the upper half of a float. Arithmetic is done in wider types.
#pragma once

#include <bit>
#include <cstdint>

namespace arbalest::reference {

class Bf16 {
 public:
  Bf16() = default;
  // To the nearest, ties to even; a NaN stays a NaN.
  explicit Bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    bits_ = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16); }

 private:
  uint16_t bits_ = 0;
};
static_assert(sizeof(Bf16) == 2);

}  // namespace arbalest::reference
