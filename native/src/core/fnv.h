// The FNV-1a hash of what is added to it, for comparisons between processes of one kind of processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace arbalest {

class Fnv {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte each : bytes) value_ = (value_ ^ static_cast<uint64_t>(each)) * 0x100000001b3;
  }
  void add(int64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  void add(double number) { add(std::as_bytes(std::span(&number, 1))); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace arbalest
