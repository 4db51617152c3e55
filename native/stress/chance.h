// What a trial makes up. The same seed makes up the same trial, though not the same order of its threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace arbalest::stress {

class Chance {
 public:
  explicit Chance(uint64_t seed) : engine_(seed) {}

  // Both ends included.
  int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(engine_); }
  bool one_in(int64_t count) { return between(1, count) == 1; }
  template <class Value> Value one_of(std::initializer_list<Value> values) {
    return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace arbalest::stress
