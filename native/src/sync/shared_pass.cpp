#include "sync/shared_pass.h"

#include <algorithm>

namespace arbalest {

SharedPass::SharedPass(size_t begin, size_t end, size_t piece, Work work)
    : end_(end), piece_(std::min(piece, end - begin)), work_(std::move(work)), next_(begin), left_((end - begin + piece_ - 1) / piece_) {}

bool SharedPass::help() {
  while (true) {
    const size_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
    if (begin >= end_) return false;
    work_(begin, std::min(begin + piece_, end_));
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) return true;
  }
}

}  // namespace arbalest
