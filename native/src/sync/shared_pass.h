// A pass over a range of elements, whose pieces the waiting threads share. The bounds of the pieces depend on the range alone, so that the
// result does not depend on which thread does which piece.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace arbalest {

class SharedPass {
 public:
  using Work = std::function<void(size_t begin, size_t end)>;

  // In pieces of `piece` elements.
  SharedPass(size_t begin, size_t end, size_t piece, Work work)
      : end_(end), piece_(std::min(piece, end - begin)), work_(std::move(work)), next_(begin), left_((end - begin + piece_ - 1) / piece_) {}

  bool has_pieces() const { return next_.load(std::memory_order_relaxed) < end_; }

  // Does pieces until none is left. True for exactly one caller: the one that finishes the last piece.
  bool help() {
    while (true) {
      const size_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
      if (begin >= end_) return false;
      work_(begin, std::min(begin + piece_, end_));
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) return true;
    }
  }

 private:
  const size_t end_, piece_;
  const Work work_;
  std::atomic<size_t> next_, left_;
};

}  // namespace arbalest
