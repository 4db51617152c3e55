// A pass over a range of elements, shared out in pieces among whoever would otherwise wait. The pieces' bounds depend on the range alone,
// so it does not matter who does which.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace arbalest {

class SharedPass {
 public:
  using Work = std::function<void(size_t begin, size_t end)>;

  // In pieces of `piece` elements.
  SharedPass(size_t begin, size_t end, size_t piece, Work work);

  bool has_pieces() const { return next_.load(std::memory_order_relaxed) < end_; }
  // Does pieces until none is left to take. True for the one caller that has finished the last of all.
  bool help();

 private:
  const size_t end_, piece_;
  const Work work_;
  std::atomic<size_t> next_, left_;
};

}  // namespace arbalest
