#include "replica/snapshot.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace arbalest {

Snapshot::Snapshot(Backend& backend, ParameterLayout layout) : backend_(backend), layout_(std::move(layout)) {}

void Snapshot::keep(const std::string& name, const Memory& vector) {
  Memory copy(backend_, layout_.bytes);
  copy_across(vector, copy, 0, layout_.bytes);
  backend_.synchronise();
  vectors_.insert_or_assign(name, std::move(copy));
}

void Snapshot::count(const std::string& name, int64_t number) {
  if (number < 0)
    throw Error("SHAPE_MISMATCH",
                "snapshot: its count " + name + " is " + std::to_string(number) + "; take one that is whole: counts are 0 or more");
  counts_[name] = number;
}

const Memory& Snapshot::vector(const std::string& name) const {
  const auto found = vectors_.find(name);
  if (found == vectors_.end())
    throw Error("SHAPE_MISMATCH", "snapshot: it has no vector " + name + "; take one of a run with the same synchroniser and optimiser");
  return found->second;
}

void Snapshot::give(const std::string& name, const Memory& to) const {
  const Bucket all{0, layout_.length()};
  give(name, to, std::span(&all, 1));
}

void Snapshot::give(const std::string& name, const Memory& to, std::span<const Bucket> ranges) const {
  const Memory& from = vector(name);
  const size_t size = size_of(layout_.type());
  for (const auto& [begin, end] : ranges) copy_across(from, to, begin * size, end * size);
  backend_.synchronise();
}

std::vector<int> Snapshot::numbers(const std::string& prefix) const {
  std::vector<int> found;
  for (const auto& [name, count] : counts_) {
    if (!name.starts_with(prefix)) continue;
    const char *const begin = name.data() + prefix.size(), *const end = name.data() + name.size();
    const auto [stopped, fault] = std::from_chars(begin, end, found.emplace_back());
    if (fault != std::errc() || stopped != end)
      throw Error("SHAPE_MISMATCH", "snapshot: it has a count " + name + "; " + prefix + " is followed by a number");
  }
  return found;
}

int64_t Snapshot::counted(const std::string& name) const {
  const auto found = counts_.find(name);
  if (found == counts_.end())
    throw Error("SHAPE_MISMATCH", "snapshot: it has no count " + name + "; take one of a run with the same synchroniser and optimiser");
  return found->second;
}

void Snapshot::check_place() const {
  // This many of the longest rounds after this many iterations are below 2^63.
  constexpr int64_t kMostRounds = int64_t{1} << 32, kMostIterations = int64_t{1} << 53;
  counted("position");
  if (counted("round") > kMostRounds || counted("iteration") > kMostIterations)
    throw Error("SHAPE_MISMATCH", "snapshot: its round is above 2^32 or its iteration above 2^53; take one that is whole");
}

void Snapshot::read(const std::string& name, std::byte* canonical) const {
  to_canonical(backend_, layout_, vector(name).data(), canonical);
}

void Snapshot::write(const std::string& name, const std::byte* canonical) {
  Memory vector(backend_, layout_.bytes);
  from_canonical(backend_, layout_, canonical, vector.data());
  vectors_.insert_or_assign(name, std::move(vector));
}

}  // namespace arbalest
