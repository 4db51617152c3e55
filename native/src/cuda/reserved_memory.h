// Device memory that is given out in pieces, without reading or writing it. One thread at a time.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

namespace arbalest::cuda {

// A range of addresses: the smallest piece that is large enough is taken, and neighbours that are both unused are joined.
class MemoryRange {
 public:
  MemoryRange(void* begin, size_t bytes) : begin_(static_cast<std::byte*>(begin)), end_(begin_ + bytes) { unused_[begin_] = bytes; }

  // Null where no piece is large enough.
  void* take(size_t bytes) {
    auto best = unused_.end();
    for (auto each = unused_.begin(); each != unused_.end(); ++each)
      if (each->second >= bytes && (best == unused_.end() || each->second < best->second)) best = each;
    if (best == unused_.end()) return nullptr;
    const auto [piece, size] = *best;
    unused_.erase(best);
    if (size > bytes) unused_[piece + bytes] = size - bytes;
    used_[piece] = bytes;
    return piece;
  }

  // False if it is not a piece of this range.
  bool give_back(void* piece) {
    const auto found = used_.find(static_cast<std::byte*>(piece));
    if (found == used_.end()) return false;
    auto joined = unused_.emplace(found->first, found->second).first;
    used_.erase(found);
    if (const auto next = std::next(joined); next != unused_.end() && joined->first + joined->second == next->first) {
      joined->second += next->second;
      unused_.erase(next);
    }
    if (joined == unused_.begin()) return true;
    if (const auto before = std::prev(joined); before->first + before->second == joined->first) {
      before->second += joined->second;
      unused_.erase(joined);
    }
    return true;
  }

  void* begin() const { return begin_; }
  size_t bytes() const { return static_cast<size_t>(end_ - begin_); }
  bool is_idle() const { return used_.empty(); }
  size_t unused() const {
    size_t sum = 0;
    for (const auto& [piece, bytes] : unused_) sum += bytes;
    return sum;
  }

 private:
  std::byte *begin_, *end_;
  std::map<std::byte*, size_t> unused_, used_;
};

// Ranges that were taken from the driver before they were needed.
class ReservedMemory {
 public:
  void add(void* begin, size_t bytes) { ranges_.emplace_back(begin, bytes); }
  // Null if no range has `bytes` in one piece.
  void* take(size_t bytes) {
    for (MemoryRange& range : ranges_)
      if (void* const piece = range.take(bytes)) return piece;
    return nullptr;
  }
  // False if it is not a piece of any range.
  bool give_back(void* piece) {
    for (MemoryRange& range : ranges_)
      if (range.give_back(piece)) return true;
    return false;
  }
  size_t unused() const {
    size_t sum = 0;
    for (const MemoryRange& range : ranges_) sum += range.unused();
    return sum;
  }
  // Calls `release(begin, bytes)` for each range without used pieces, and removes the range.
  template <class Release> void release_idle(const Release& release) {
    std::erase_if(ranges_, [&](const MemoryRange& range) {
      if (range.is_idle()) release(range.begin(), range.bytes());
      return range.is_idle();
    });
  }

 private:
  std::vector<MemoryRange> ranges_;
};

}  // namespace arbalest::cuda
