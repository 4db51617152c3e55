// What a group or a replica goes on from: vectors laid out like the parameters, and counts, by name. A copy, made while its owner rests, so
// that training may go on while another thread reads it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/buckets.h"
#include "device/parameter_vectors.h"

namespace arbalest {

class Snapshot {
 public:
  static constexpr char kKind[] = "snapshot";

  Snapshot(Backend& backend, ParameterLayout layout);

  void keep(const std::string& name, const Memory& vector);
  // Throws SHAPE_MISMATCH for a number below 0: there is nothing of which a group or a replica counts less than none.
  void count(const std::string& name, int64_t number);

  bool has(const std::string& name) const { return vectors_.count(name) != 0; }
  // Also into the memory of another device. Throws SHAPE_MISMATCH where the vector is not there.
  void give(const std::string& name, const Memory& to) const;
  // These ranges alone.
  void give(const std::string& name, const Memory& to, std::span<const Bucket> ranges) const;
  // Throws SHAPE_MISMATCH where the count is not there.
  int64_t counted(const std::string& name) const;
  // Throws SHAPE_MISMATCH if a group cannot be at this `round`, `iteration` and `position`.
  void check_place() const;

  // In canonical order.
  void read(const std::string& name, std::byte* canonical) const;
  void write(const std::string& name, const std::byte* canonical);

  const ParameterLayout& layout() const { return layout_; }
  const std::map<std::string, Memory>& vectors() const { return vectors_; }
  // Those that follow this prefix in the names of counts. Throws SHAPE_MISMATCH where something else does.
  std::vector<int> numbers(const std::string& prefix) const;
  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  const Memory& vector(const std::string& name) const;

  Backend& backend_;
  const ParameterLayout layout_;
  std::map<std::string, Memory> vectors_;
  std::map<std::string, int64_t> counts_;
};

}  // namespace arbalest
