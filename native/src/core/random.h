// Counter-based random numbers: the same (key, counter) gives the same numbers in any order, on any thread, after any restart.
// Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace arbalest {

using Random4 = std::array<uint32_t, 4>;

constexpr Random4 philox(uint64_t key, uint64_t counter, uint64_t stream) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  Random4 c{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), static_cast<uint32_t>(stream),
            static_cast<uint32_t>(stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b), static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// In [0, 1), 24 bits.
constexpr float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

// What the streams of one seed are for; operators take theirs from `kFirstOperator` on.
enum RandomStream : uint64_t {
  kOrder = 1,
  kAugment = 2,
  kInitialise = 3,
  kWindows = 4,
  kRead = 5,
  kFlip = 6,
  kCutout = 7,
  kMix = 8,
  kFirstOperator = 1024
};

// Sample `index` of epoch `epoch` in a seeded random order of `count` samples: a four-round Feistel network over the smallest even number
// of bits that holds `count`, walked until it falls below `count`. A permutation without a table, so a position in the data is one number.
constexpr uint64_t permuted(uint64_t seed, uint64_t epoch, uint64_t index, uint64_t count) {
  int half = 1;
  while ((uint64_t{1} << (2 * half)) < count) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const Random4 r = philox(seed, (right << 2) | round, (epoch << 8) | kOrder);
      const uint64_t mixed = left ^ (((uint64_t{r[1]} << 32) | r[0]) & mask);
      left = right;
      right = mixed;
    }
    index = (left << half) | right;
  } while (index >= count);
  return index;
}

}  // namespace arbalest
